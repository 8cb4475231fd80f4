package app

import (
	"errors"
	"slices"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
)

// Silence has the datacenters whose stores do not answer, though they were asked for as
// long as there is patience: a command asks them for nothing else. A nil *silence has
// none.
type Silence struct {
	of    []string
	first pfs.Path // that they were not asked for
	more  int64    // how many after it
}

// Has reports whether the store of p is known not to answer.
func (s *Silence) Has(p pfs.Path) bool { return s != nil && slices.Contains(s.of, datacenter(p)) }

// Note takes what became of asking for p.
func (s *Silence) Note(p pfs.Path, err error) {
	if dc := datacenter(p); s != nil && dc != "" && errors.Is(err, pfs.Unavailable) {
		s.of = append(s.of, dc)
	}
}

// Unless calls fn, which does something with p, unless the store of p is known not to
// answer: then the error is one that tell reports.
func (s *Silence) Unless(p pfs.Path, fn func() error) error {
	if !s.Has(p) {
		err := fn()
		s.Note(p, err)
		return err
	}
	if s.first == "" {
		s.first = p
	} else {
		s.more++
	}
	return cliio.Reported(cliio.Unavailable)
}

// Tell says what was left out.
func (s *Silence) Tell(out *cliio.Printer) {
	switch {
	case s.more > 0:
		out.Message("%s and %s more were not asked for: their store does not answer", s.first, Count(s.more, "path", "paths"))
	case s.first != "":
		out.Message("%s was not asked for: its store does not answer", s.first)
	}
}
