package transfer

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/paddlecloud/pfs/pfs"
)

// Rule includes or excludes paths. The last rule of a job that matches an entry decides.
//
// A pattern is matched against the path of an entry below the root of the job, without a leading
// slash, in the syntax of doublestar: "*" and "?" do not match "/", "**" as a whole element matches
// any number of elements, "[a-z]" and "{a,b}" work. As in a .gitignore,
//
//   - a pattern that ends in "/" matches directories only;
//   - a pattern with no other "/" matches in every directory: "*.o" is "**/*.o";
//   - any other pattern starts at the root: "data/*.csv", "/README".
//
// An entry without a matching rule is included, unless the first rule is an Include: then it is
// excluded. A decision about a directory applies to everything below it until a later rule decides
// otherwise. Excluded directories are not read, so nothing below them can be included again. If the
// first rule is an Include, a directory is created only when a file is copied into it. The root is
// always included.
type Rule struct {
	Exclude bool
	Pattern string
}

// choice is the decision of the rules about an entry.
type choice uint8

const (
	taken    choice = iota // copied
	open                   // not copied, but something below may be
	excluded               // nothing here, nothing below
)

// filter is the rules of a job, ready to match.
type filter struct {
	rules []rule
	root  choice
}

type rule struct {
	exclude, dirsOnly bool
	pattern           string // from the root
}

func newFilter(rules []Rule) (filter, error) {
	var f filter
	if len(rules) > 0 && !rules[0].Exclude {
		f.root = open
	}
	for _, r := range rules {
		p, dirsOnly := strings.CutSuffix(r.Pattern, "/")
		if strings.Contains(p, "/") {
			p = strings.TrimPrefix(p, "/")
		} else {
			p = "**/" + p
		}
		if strings.Trim(r.Pattern, "/") == "" || !doublestar.ValidatePattern(p) {
			return filter{}, pfs.Errorf("transfer.New", "", pfs.Invalid,
				"pattern %q is malformed: see to its brackets and braces", r.Pattern)
		}
		f.rules = append(f.rules, rule{exclude: r.Exclude, dirsOnly: dirsOnly, pattern: p})
	}
	return f, nil
}

// active reports whether anything can be left out.
func (f filter) active() bool { return len(f.rules) > 0 }

// choose decides about the entry rel, whose parent directory has the choice above.
func (f filter) choose(above choice, rel string, isDir bool) choice {
	if above == excluded {
		return excluded
	}
	c := above
	for _, r := range f.rules {
		if r.dirsOnly && !isDir || !doublestar.MatchUnvalidated(r.pattern, rel) {
			continue
		}
		if c = taken; r.exclude {
			c = excluded
		}
	}
	return c
}

// Filter applies the rules of a Job in other walks.
type Filter struct{ f filter }

// NewFilter answers Invalid for a malformed pattern.
func NewFilter(rules []Rule) (Filter, error) {
	f, err := newFilter(rules)
	return Filter{f}, err
}

// Takes reports whether the rules take the entry rel below the root; and, of a
// directory, whether something below it may be taken.
func (f Filter) Takes(rel string, isDir bool) (takes, enters bool) {
	c := f.f.root
	for i, b := range []byte(rel) {
		if b == '/' {
			c = f.f.choose(c, rel[:i], true)
		}
	}
	c = f.f.choose(c, rel, isDir)
	return c == taken, c != excluded
}
