package upstream

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// A server may keep what a session listens to by the session alone, as the SDK does: the end of one
// subscriptions/listen then ends what another one has asked for. Whatever comes and goes, the lists and the rest are
// still listened to.
func TestSubscriptionsThatComeAndGoEndNoOthers(t *testing.T) {
	for round := range 5 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			h := one(t, program(t, "sdk"))
			ctx := context.Background()
			if !h.session().modern() {
				t.Fatal("the newest protocol is not spoken")
			}
			if err := h.Subscribe(ctx, "s", "a://1"); err != nil {
				t.Fatal(err)
			}
			for i := range 4 {
				for _, f := range []func(context.Context, string, string) error{h.Subscribe, h.Unsubscribe} {
					if err := f(ctx, "s", fmt.Sprintf("b://%d", i)); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Duration(round) * 5 * time.Millisecond) // in different states of what came before
				}
			}
			await(t, "an update", func() bool {
				if _, err := h.call("touch"); err != nil {
					t.Fatal(err)
				}
				h.mu.Lock()
				defer h.mu.Unlock()
				return len(h.updates) > 0
			})
			time.Sleep(300 * time.Millisecond) // what was changed last has been said by then
			if _, err := h.call("grow"); err != nil {
				t.Fatal(err)
			}
			await(t, "the new tool", func() bool {
				_, err := h.call("grown")
				return err == nil
			})
			h.mu.Lock()
			before := len(h.updates)
			h.mu.Unlock()
			if _, err := h.call("touch"); err != nil {
				t.Fatal(err)
			}
			await(t, "another update", func() bool {
				h.mu.Lock()
				defer h.mu.Unlock()
				return len(h.updates) > before
			})
		})
	}
}
