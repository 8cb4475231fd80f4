package main

import (
	"errors"
	"slices"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
)

// silence has the datacenters whose stores do not answer, though they were asked for as
// long as there is patience: a command asks them for nothing else. A nil *silence has
// none.
type silence struct {
	of    []string
	first pfs.Path // that they were not asked for
	more  int64    // how many after it
}

// has reports whether the store of p is known not to answer.
func (s *silence) has(p pfs.Path) bool { return s != nil && slices.Contains(s.of, datacenter(p)) }

// note takes what became of asking for p.
func (s *silence) note(p pfs.Path, err error) {
	if dc := datacenter(p); s != nil && dc != "" && errors.Is(err, pfs.Unavailable) {
		s.of = append(s.of, dc)
	}
}

// unless calls fn, which does something with p, unless the store of p is known not to
// answer: then the error is one that tell reports.
func (s *silence) unless(p pfs.Path, fn func() error) error {
	if !s.has(p) {
		err := fn()
		s.note(p, err)
		return err
	}
	if s.first == "" {
		s.first = p
	} else {
		s.more++
	}
	return cliio.Reported(cliio.Unavailable)
}

// tell says what was left out.
func (s *silence) tell(out *cliio.Printer) {
	switch {
	case s.more > 0:
		out.Message("%s and %s more were not asked for: their store does not answer", s.first, count(s.more, "path", "paths"))
	case s.first != "":
		out.Message("%s was not asked for: its store does not answer", s.first)
	}
}
