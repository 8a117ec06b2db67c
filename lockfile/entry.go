package lockfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-mcp/penstock/engine"
)

// read is one entry as it is read: what was there, and where.
type read struct {
	Entry
	hasServer, hasName, hasFingerprint bool

	fingerprintAt, digestsAt, definitionAt int64
	digestAt                               [components]int64
}

// entry reads one element of the list of tools and adds it.
func (r *reader) entry(path string) error {
	var e read
	before := len(r.problems) + r.more
	start, err := r.object(path, "a tool", func(key string, at int64) (err error) {
		switch key {
		case "server":
			e.Server, at, e.hasServer, err = r.text(path + ".server")
			if e.hasServer {
				if bad := engine.CheckServerID(e.Server); bad != nil {
					r.fail(at, path, bad)
				}
			}
			e.hasServer = true // of the wrong type is not missing
			return err
		case "name":
			e.Name, _, _, err = r.text(path + ".name")
			e.hasName = true
			return err
		case "fingerprint":
			e.hasFingerprint = true
			s, at, ok, err := r.text(path + ".fingerprint")
			e.Fingerprint, e.fingerprintAt = engine.Fingerprint(s), at
			if ok {
				if bad := checkFingerprint(e.Fingerprint); bad != nil {
					r.fail(at, path, bad)
				}
			}
			return err
		case "digests":
			return r.readDigests(path+".digests", &e)
		case "definition":
			return r.readDefinition(path+".definition", &e)
		default:
			return r.unknown(at, path, key, "server", "name", "fingerprint", "digests", "definition")
		}
	})
	if err != nil || start < 0 {
		return err
	}
	var lacks []string
	for _, k := range []struct {
		key string
		has bool
	}{{"server", e.hasServer}, {"name", e.hasName}, {"fingerprint", e.hasFingerprint}} {
		if !k.has {
			lacks = append(lacks, k.key)
		}
	}
	if len(lacks) > 0 {
		r.fail(start, path, fmt.Errorf("missing: %s", strings.Join(lacks, ", ")))
	}
	if len(r.problems)+r.more > before {
		return nil
	}
	r.add(path, start, &e)
	return nil
}

// add verifies a complete entry and puts it into its place.
func (r *reader) add(path string, start int64, e *read) {
	target := e.Target()
	who := path + " " + quote(e.Server) + "/" + quote(e.Name)
	if first, twice := r.at[target]; twice {
		r.fail(start, who, fmt.Errorf("%w (first in line %d)", ErrTwice, first))
		return
	}
	r.at[target] = r.position(start).Line
	if e.Definition != nil && !r.verify(who, e) {
		return
	}
	// A file that this package wrote is sorted already.
	if n := len(r.out.entries); n > 0 && compareEntries(r.out.entries[n-1], e.Entry) > 0 {
		r.unsorted = true
	}
	r.out.entries = append(r.out.entries, e.Entry)
}

// verify reports whether fingerprint, digests and name are those of the definition.
func (r *reader) verify(who string, e *read) bool {
	name, p, err := split(jsontext.Value(e.Definition))
	if err != nil {
		r.fail(e.definitionAt, who, err)
		return false
	}
	own, err := engine.ComputeFingerprint(e.Definition)
	if err != nil {
		r.fail(e.definitionAt, who, err)
		return false
	}
	ok := true
	if name != e.Name {
		r.fail(e.definitionAt, who, fmt.Errorf("the definition is of a tool named %s (%w)", quote(name), ErrMismatch))
		ok = false
	}
	if own != e.Fingerprint {
		r.fail(e.fingerprintAt, who, fmt.Errorf("the definition's fingerprint is %s (%w)", own, ErrMismatch))
		ok = false
	}
	digests := p.digests()
	if e.Digests != nil {
		for c, want := range digests {
			at := e.digestAt[c]
			switch got := e.Digests[c]; {
			case got == want:
				continue
			case got == "":
				at, err = e.digestsAt, fmt.Errorf("the definition has a part %s, and the digests have not (%w)", Component(c), ErrMismatch)
			case want == "":
				err = fmt.Errorf("the definition has no part %s (%w)", Component(c), ErrMismatch)
			default:
				err = fmt.Errorf("the digest of the definition's %s is %s (%w)", Component(c), want, ErrMismatch)
			}
			r.fail(at, who, err)
			ok = false
		}
	}
	e.Digests = digests
	return ok
}

func (r *reader) readDigests(path string, e *read) error {
	e.Digests = new(Digests)
	start, err := r.object(path, "", func(key string, at int64) error {
		for c := range components {
			if c.String() != key {
				continue
			}
			s, at, ok, err := r.text(path + "." + key)
			if ok {
				if bad := checkDigest(s); bad != nil {
					r.fail(at, path+"."+key, bad)
				}
			}
			e.Digests[c], e.digestAt[c] = s, at
			return err
		}
		return r.unknown(at, path, key, componentNames[:]...)
	})
	e.digestsAt = start
	return err
}

func (r *reader) readDefinition(path string, e *read) error {
	v, at, err := r.value(path, '{')
	if err != nil || v == nil {
		return err
	}
	e.definitionAt = at
	canonical, err := engine.CanonicalJSON(v)
	var inside *engine.JSONError
	switch {
	case errors.As(err, &inside):
		r.fail(at+inside.Offset, path, inside.Err)
		return nil
	case err != nil:
		r.fail(at, path, err)
		return nil
	}
	e.Definition = canonical
	return nil
}
