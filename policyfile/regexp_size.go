package policyfile

import (
	"regexp/syntax"
)

// A regular expression can be short and its program large: x{1000} is a thousand instructions, and 500 of them fit in
// 3.5 KB and take 85 MB. So the size of the program is reckoned from the parse tree before anything is compiled.

const (
	// maxRegexpWork bounds one expression, in instructions. What people write has some tens, and a name of any letters
	// with a length, ^\p{L}{1,200}$, 9,000. At about 200 bytes each this is 2 MB.
	maxRegexpWork = 10_000

	// maxDocumentWork bounds all expressions of a document: some 50,000 of what people write, or 200 MB.
	maxDocumentWork = 1_000_000

	// runesPerInstruction is how many bounds of a character class take the memory of one instruction.
	runesPerInstruction = 32
)

// affordable takes the expression text off the budgets of itself and of the document. It reports what is over, the
// document's only once; what follows it there is left out. Expressions that do not parse are affordable: compiling
// one says what is wrong with it.
func (c *checker) affordable(text string, n *node, at *path) bool {
	if c.work > maxDocumentWork {
		return false
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		c.work += len(text) // so that it is no free work
		return c.inBudget(n, at)
	}
	work := instructions(tree)
	c.work += min(work, maxRegexpWork) // one that is refused is no reason to refuse all others
	if work > maxRegexpWork {
		c.add(n, at, "the regular expression %s compiles to more than %d instructions (shorten its repeats or split it)",
			quote(text), maxRegexpWork)
		c.inBudget(n, at)
		return false
	}
	return c.inBudget(n, at)
}

func (c *checker) inBudget(n *node, at *path) bool {
	if c.work <= maxDocumentWork {
		return true
	}
	c.add(n, at, "the regular expressions up to this one compile to more than %d instructions, and the rest was not read "+
		"(shorten their repeats, or write patterns)", maxDocumentWork)
	return false
}

// instructions returns about how many instructions re compiles to, never fewer, or something over maxRegexpWork. The
// bounds of character classes count, too: compiling can copy them for each use.
func instructions(re *syntax.Regexp) int {
	sum := 0
	for _, sub := range re.Sub {
		if sum += instructions(sub); sum > maxRegexpWork {
			return sum
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		return max(1, len(re.Rune))
	case syntax.OpCharClass:
		return 1 + len(re.Rune)/runesPerInstruction
	case syntax.OpCapture:
		return sum + 2
	case syntax.OpStar:
		return sum + 2
	case syntax.OpPlus, syntax.OpQuest:
		return sum + 1
	case syntax.OpRepeat:
		// x{2,5} is xx(x(x(x)?)?)?, and x{2,} is xx+. A repeat is 1,000 at most.
		if re.Max < 0 {
			return max(1, re.Min)*sum + 2
		}
		return max(1, re.Max)*sum + re.Max - re.Min
	case syntax.OpAlternate:
		return sum + len(re.Sub)
	case syntax.OpConcat:
		return max(1, sum)
	default:
		return 1
	}
}
