//go:build unix

package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestNoServerHoldsUpAnother(t *testing.T) {
	nothingLeft(t)
	dir := t.TempDir() // before the pool: it is removed when nobody writes there any more
	h := newHouse(t, func(o *Options) { o.ConnectTimeout = time.Hour })
	h.discover = time.Hour
	block := make(chan struct{})
	tell := h.o.OnCatalog
	h.o.OnCatalog = func(c Catalog) {
		if c.Server == "slow" {
			<-block
		}
		tell(c)
	}
	h.Apply(map[string]Server{
		"deaf": program(t, "deaf"), "blind": program(t, "blind"), "gone": {Command: "penstock-no-such-program"},
		"slow": program(t, "plain"), "good": program(t, "plain"), "dies": program(t, "short", "COUNT", filepath.Join(dir, "c")),
	})
	await(t, "the good one", func() bool { return len(h.last("good").Tools) == 1 })
	if st := h.status("deaf"); st.State != Connecting {
		t.Errorf("%+v", st)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := h.Settled(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	close(block)
	await(t, "the slow one", func() bool { return len(h.last("slow").Tools) == 1 })
	var ids []string
	for _, s := range h.Status() {
		ids = append(ids, s.Server)
	}
	if !slices.Equal(ids, []string{"blind", "deaf", "dies", "gone", "good", "slow"}) {
		t.Error(ids)
	}
}

func TestApplyTouchesOnlyWhatChanged(t *testing.T) {
	nothingLeft(t)
	h := newHouse(t)
	plain := func(x string) Server { return program(t, "plain", "X", x) }
	off := plain("1")
	off.Disabled = true
	h.apply(map[string]Server{"same": plain("1"), "changes": plain("1"), "goes": plain("1"), "off": off, "no/id": plain("1")})
	if st := h.status("off"); st.State != Stopped || len(h.all("off")) != 0 {
		t.Errorf("%+v", st)
	}
	if h.status("no/id").Server != "" {
		t.Error("a server with an id that none can have")
	}
	h.apply(map[string]Server{"same": plain("1"), "changes": plain("2"), "off": plain("1"), "new": plain("1")})
	await(t, "the one that goes", func() bool { return len(h.all("goes")) == 2 })
	for id, want := range map[string][]bool{"same": {true}, "changes": {true, false, true}, "goes": {true, false}, "off": {true}, "new": {true}} {
		var got []bool
		for _, c := range h.all(id) {
			got = append(got, c.Up)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
	}
	if h.status("goes").Server != "" {
		t.Error("it is still there")
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"same", "changes", "off", "new"} {
		if h.last(id).Up {
			t.Errorf("%s is up", id)
		}
	}
}

// A server that is replaced says its last before the next one says its first, however long that takes.
func TestTheEndOfOneComesBeforeTheBeginningOfTheNext(t *testing.T) {
	h := newHouse(t)
	tell, reached, block := h.o.OnCatalog, make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(reached) })
	h.o.OnCatalog = func(c Catalog) {
		if !c.Up {
			first()
			<-block
		}
		tell(c)
	}
	h.apply(map[string]Server{"s": program(t, "plain", "X", "1")})
	h.Apply(map[string]Server{})
	<-reached
	h.Apply(map[string]Server{"s": program(t, "plain", "X", "2")})
	time.Sleep(200 * time.Millisecond) // time enough for the next one, were it not to wait
	if n := len(h.all("s")); n != 1 {
		t.Errorf("%d catalogs", n)
	}
	close(block)
	await(t, "the next one", func() bool {
		var up []bool
		for _, c := range h.all("s") {
			up = append(up, c.Up)
		}
		return slices.Equal(up, []bool{true, false, true})
	})
}

func TestListsWithoutEnd(t *testing.T) {
	for size, what := range map[string]string{"0": "more than 20000 items", "50000": "more than 67108864 bytes"} {
		h := one(t, program(t, "endless", "SIZE", size))
		st := h.status("s")
		if st.State == Up || !errors.Is(st.Err, ErrTooMuch) || !strings.Contains(st.Err.Error(), what) || len(h.all("s")) != 0 {
			t.Errorf("%+v", st)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	h := one(t, program(t, "circle"))
	if got := names(h.last("s")); !slices.Equal(got, []string{"t", "ta", "tb"}) {
		t.Error(got)
	}
	if got := problems(h.last("s").Problems); !strings.Contains(got, "comes again") {
		t.Error(got)
	}
}

func TestAStormOfChangesIsOneListASecond(t *testing.T) {
	h := one(t, program(t, "storm"))
	asked := func() int {
		n, _ := strconv.Atoi(h.tool("s", "asked").Definition.Description)
		return n
	}
	start := time.Now()
	await(t, "some lists", func() bool { return asked() >= 5 })
	// Three at once, then one a second: five need two seconds at the very least, however slow the machine is.
	if d := time.Since(start); d < 900*time.Millisecond {
		t.Errorf("%d lists in %v", asked(), d)
	}
	if n, most := asked(), 2+changeBurst+int(time.Since(start)/changeRefill)+1; n > most {
		t.Errorf("%d lists, at most %d", n, most)
	}
}

func TestAServerThatNoLongerListsIsDown(t *testing.T) {
	h := one(t, program(t, "refusesToList"))
	h.session().poke()
	await(t, "it to be down", func() bool { return len(h.all("s")) >= 2 && !h.all("s")[1].Up })
	await(t, "another connection", func() bool { return h.last("s").Up })
}

func TestListsAreReadNowAndThen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "list")
	write := func(s string) {
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"tools":[]}`)
	h := one(t, program(t, "file", "LIST", path), func(o *Options) { o.Refresh = 20 * time.Millisecond })
	time.Sleep(100 * time.Millisecond)
	if n := len(h.all("s")); n != 1 {
		t.Errorf("the same catalog was handed over %d times", n)
	}
	write(`{"tools":[` + plainTool("new") + `]}`)
	await(t, "the new tool", func() bool { return slices.Equal(names(h.last("s")), []string{"new"}) })
	if st := h.status("s"); st.Tools != 1 {
		t.Errorf("%+v", st)
	}
	write(`{"tools":{}}`) // no list at all
	await(t, "the tools to vanish", func() bool { return len(h.all("s")) == 3 && !h.last("s").Up })
	write(`{"tools":[` + plainTool("new") + `]}`)
	await(t, "them to be back", func() bool { return len(names(h.last("s"))) == 1 })
}

func TestAPanicOfACallbackIsSurvived(t *testing.T) {
	h := newHouse(t)
	h.panics = true
	h.apply(map[string]Server{"s": program(t, "plain")})
	if st := h.status("s"); st.State != Up {
		t.Errorf("%+v", st)
	}
	if !strings.Contains(h.log.String(), "a callback of the pool failed") {
		t.Error("not logged")
	}
}

func TestBackoffGrowsAndIsBounded(t *testing.T) {
	for _, c := range []struct {
		failures int
		want     time.Duration
	}{{1, 100}, {2, 200}, {3, 400}, {4, 800}, {5, 1000}, {6, 1000}, {1 << 30, 1000}} {
		for range 100 {
			if d := backoff(100, 1000, c.failures); d < c.want/2 || d > c.want {
				t.Fatalf("%d: %d", c.failures, d)
			}
		}
	}
}

// Calls go through while servers die, change and are replaced.
func TestEverythingAtOnce(t *testing.T) {
	nothingLeft(t)
	h := newHouse(t)
	servers := func(x string) map[string]Server {
		return map[string]Server{"s": program(t, "changing", "X", x), "d": program(t, "dies"), "storm": program(t, "storm")}
	}
	h.apply(servers("0"))
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, tool := range []string{"turns", "change", "turns"} {
		wg.Go(func() {
			for ctx.Err() == nil {
				c := h.last("s")
				for _, x := range c.Tools {
					if x.Name == tool {
						_, err := h.callAs(x.Fingerprint, tool)
						if err != nil && !errors.Is(err, ErrChanged) && !errors.Is(err, ErrDown) && !errors.Is(err, ErrLost) && !errors.Is(err, ErrStale) {
							t.Errorf("%v", err)
						}
					}
				}
				_ = h.Status()
				time.Sleep(time.Millisecond)
			}
		})
	}
	for i := range 5 {
		time.Sleep(50 * time.Millisecond)
		h.apply(servers(fmt.Sprint(i % 2)))
	}
	cancel()
	wg.Wait()
	// In order, for each server: never two ends in a row.
	for _, id := range []string{"s", "d", "storm"} {
		for i, c := range h.all(id) {
			if !c.Up && (i == 0 || !h.all(id)[i-1].Up) {
				t.Errorf("%s: %d is an end without a beginning", id, i)
			}
		}
	}
}

// One tool that is broken, in any way, is its own problem: the list comes through, over either transport.
func TestABrokenToolDoesNotFailItsList(t *testing.T) {
	raws := []string{plainTool("good"), `null`, `7`, `{}`, `{"name":3}`}
	named := 1
	for _, c := range toolCases {
		if json.Valid([]byte(c.raw)) { // the others do not survive the environment
			raws = append(raws, c.raw)
			named++
		}
	}
	raws = append(raws, plainTool("last"))
	list := `{"tools":[` + strings.Join(raws, ",") + `]}`
	srv := byHand(t, func(w http.ResponseWriter, _ *http.Request, req request) bool {
		if req.Method != "tools/list" {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		(&fake{out: w}).result(req.ID, list)
		return true
	})
	for name, s := range map[string]Server{"stdio": program(t, "list", "LIST", list), "http": {URL: srv.URL}} {
		h := one(t, s)
		c := h.last("s")
		if got := names(c); len(got) != named+1 || got[0] != "good" || got[len(got)-1] != "last" {
			t.Fatalf("%s: %q %+v", name, got, h.status("s"))
		}
		for i, raw := range raws[5:] {
			if tool := c.Tools[i+1]; string(tool.Raw) != raw {
				t.Errorf("%s: %s came as %s", name, raw, tool.Raw)
			}
		}
		if got := problems(c.Problems); !strings.Contains(got, "tools[1]") || !strings.Contains(got, "tools[4]") {
			t.Error(got)
		}
		for _, tool := range []string{"good", "last"} {
			if _, err := h.call(tool); err != nil {
				t.Errorf("%s: %s: %v", name, tool, err)
			}
		}
	}
}
