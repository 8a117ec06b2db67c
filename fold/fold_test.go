package fold_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"github.com/penstock-mcp/penstock/fold"
)

// oracle is the fold of one character by x/text, whose tables are built apart from those of package unicode.
func oracle(c cases.Caser, r rune) string {
	switch s := c.String(string(r)); s {
	case "-", ".":
		return "_"
	default:
		return s
	}
}

func TestEveryCodePointFoldsAsInXText(t *testing.T) {
	lower := cases.Lower(language.Und)
	seen, changed := 0, 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		seen++
		want := oracle(lower, r)
		if got := fold.Rune(r); got != want {
			t.Errorf("fold of %U is %+q, x/text says %+q", r, got, want)
		}
		if want != string(r) {
			changed++
		}
	}
	assert.Equal(t, 0x110000-0x800, seen)
	assert.Greater(t, changed, 1400, "a comparison in which nothing changes proves nothing")
}

func TestEveryCodePointFoldsOnce(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		once := fold.Rune(r)
		if twice := fold.String(once); twice != once {
			t.Errorf("%U folds to %+q and then to %+q", r, once, twice)
		}
		if (once == string(r)) != fold.Is(string(r)) {
			t.Errorf("Is(%U) does not agree with String", r)
		}
		if n := len(string(r)); 2*len(once) > 3*n {
			t.Errorf("%U grows from %d to %d bytes, more than Append promises", r, n, len(once))
		}
	}
}

func TestFold(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"delete_repo", "delete_repo"},
		{"Delete-Repo", "delete_repo"},
		{"DELETE.REPO", "delete_repo"},
		{"delete__repo", "delete__repo"},
		{"delete repo", "delete repo"},
		{"delete\u2212repo", "delete\u2212repo"},
		{"İX", "i\u0307x"},
		{"ΟΔΟΣ", "οδοσ"},
		{"ΑΣ Β", "ασ β"},
		{"ς", "ς"},
		{"ſ", "ſ"},
		{"Straße", "straße"},
		{"ẞ", "ß"},
		{"\u212a", "k"},
		{"ǅ", "ǆ"},
		{"𐐀", "𐐨"},
		{"Ꭰ", "ꭰ"},
		{"A\xffB", "a\xffb"},
		{"\xc3", "\xc3"},
		{"\xed\xa0\x80", "\xed\xa0\x80"},
		{"\xc0\xaeX", "\xc0\xaex"},
		{"\ufffdA", "\ufffda"},
		{"A\x00\n", "a\x00\n"},
	} {
		assert.Equal(t, c.want, fold.String(c.in), "fold of %+q", c.in)
		assert.Equal(t, c.want, string(fold.Append(nil, c.in)), "Append of %+q", c.in)
		assert.Equal(t, "x"+c.want, string(fold.Append([]byte("x"), c.in)))
		assert.True(t, fold.Equal(c.in, c.want))
	}
	assert.False(t, fold.Equal("a\xff", "a\xfe"), "two bad names became equal")
	assert.False(t, fold.Equal("a", "b"))
}

func TestDifferentBadBytesStayDifferent(t *testing.T) {
	seen := map[string]string{}
	for b := 0x80; b <= 0xff; b++ {
		for c := 0; c <= 0xff; c++ {
			s := string([]byte{byte(b), byte(c)})
			if utf8.ValidString(s) || (c < 0x80 && !fold.Is(s)) {
				continue
			}
			f := fold.String(s)
			if old, ok := seen[f]; ok {
				t.Errorf("%+q and %+q have the same fold", old, s)
			}
			seen[f] = s
		}
	}
	assert.Greater(t, len(seen), 10000)
}

// alphabet holds every kind of piece the two laws could break on: letters that grow, letters whose lower-case
// depends on a neighbour elsewhere, combining marks, the separators, and bytes that are not UTF-8.
var alphabet = []string{"a", "A", "-", ".", "_", "*", "/", "İ", "i", "\u0307", "Σ", "ς", "σ", "ß", "ẞ", "K", "ſ",
	"Ⱥ", "𐐀", "é", "É", "\ufffd", "\xff", "\xc3", "\xa9", "\xe2\x82", "\x00"}

func TestLawsOnEveryShortString(t *testing.T) {
	n := 0
	for _, a := range alphabet {
		for _, b := range alphabet {
			for _, c := range alphabet {
				laws(t, a+b, c)
				laws(t, a, b+c)
				n++
			}
		}
	}
	assert.Equal(t, len(alphabet)*len(alphabet)*len(alphabet), n)
}

func TestLawsOnRandomStrings(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	pick := func() string {
		var b strings.Builder
		for range rnd.IntN(12) {
			if rnd.IntN(4) == 0 {
				b.WriteRune(rune(rnd.IntN(unicode.MaxRune)))
			} else {
				b.WriteString(alphabet[rnd.IntN(len(alphabet))])
			}
		}
		return b.String()
	}
	for range 20000 {
		laws(t, pick(), pick())
	}
}

// laws fails t unless the two laws of the package comment hold for a and b.
func laws(t testing.TB, a, b string) {
	t.Helper()
	fa, fb, fab := fold.String(a), fold.String(b), fold.String(a+b)
	if fold.String(fab) != fab || !fold.Is(fab) {
		t.Fatalf("fold is not idempotent on %+q", a+b)
	}
	if (utf8.ValidString(a) || utf8.ValidString(b)) && joins(a, b) && fab != fa+fb {
		t.Fatalf("fold(%+q + %+q) = %+q, but piece by piece it is %+q", a, b, fab, fa+fb)
	}
	if utf8.ValidString(a+b) != utf8.ValidString(fab) {
		t.Fatalf("fold changed whether %+q is valid UTF-8", a+b)
	}
}

// joins reports whether the end of a and the start of b stay apart: where one of the two is valid UTF-8, they
// always do, since no valid string starts with a continuation byte or ends inside a character.
func joins(a, b string) bool {
	return utf8.RuneCountInString(a)+utf8.RuneCountInString(b) == utf8.RuneCountInString(a+b)
}

func TestPiecesOfPatternsNeverMeltIntoTheirNeighbours(t *testing.T) {
	for _, a := range alphabet {
		for _, b := range alphabet {
			if utf8.ValidString(a) || utf8.ValidString(b) {
				require.True(t, joins(a, b), "%+q %+q", a, b)
			}
		}
	}
}

func TestFoldOfASCIIAllocatesNothing(t *testing.T) {
	names := []string{"", "read_file", strings.Repeat("a_b", 400)}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		for _, n := range names {
			if fold.String(n) != n || !fold.Is(n) {
				panic("changed")
			}
		}
	}))
	buf := make([]byte, 0, 64)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		buf = fold.Append(buf[:0], "Delete-Repo.AND_all-the-Others")
		if !fold.Equal("Delete-Repo", "delete.repo") {
			panic("not equal")
		}
	}))
}

func FuzzFold(f *testing.F) {
	for _, a := range alphabet {
		f.Add(a, "x"+a)
	}
	lower := cases.Lower(language.Und)
	f.Fuzz(func(t *testing.T, a, b string) {
		laws(t, a, b)
		var want strings.Builder
		for i := 0; i < len(a); {
			r, n := utf8.DecodeRuneInString(a[i:])
			if r == utf8.RuneError && n == 1 {
				want.WriteByte(a[i])
			} else {
				want.WriteString(oracle(lower, r))
			}
			i += n
		}
		if got := fold.String(a); got != want.String() {
			t.Fatalf("fold of %+q is %+q, want %+q", a, got, want.String())
		}
		if fold.Equal(a, b) != (fold.String(a) == fold.String(b)) {
			t.Fatalf("Equal(%+q, %+q) does not agree with String", a, b)
		}
	})
}

func ExampleString() {
	fmt.Println(fold.String("Delete-Repo"), fold.String("DELETE.REPO"))
	// Output: delete_repo delete_repo
}
