package bench

import "testing"

func TestCatalogsMakeAWorkload(t *testing.T) {
	w, err := FromCatalogs("../testdata/catalogs", 200)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(w.Deny) + len(w.Ask) + len(w.Allow); n != 200 || len(w.Servers) != 91 || len(w.Known) < 2000 {
		t.Fatalf("%d rules, %d servers, %d known tools", n, len(w.Servers), len(w.Known))
	}
	naive := NewNaive(w)
	var lists [len(listNames)]int
	for _, n := range w.Known {
		lists[naive.Decide(n, &Situations[0]).List]++
	}
	t.Logf("default, deny, ask, allow: %v of %d; lists %d/%d/%d, %d/%d", lists, len(w.Known),
		len(w.Deny), len(w.Ask), len(w.Allow), len(w.Include), len(w.Exclude))
	for l, n := range lists {
		if n < len(w.Known)/50 {
			t.Errorf("list %s decides %d", listNames[l], n)
		}
	}
}
