package app

import (
	"errors"
	"slices"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
)

// DownDatacenters are the datacenters whose stores did not answer before the retry budget was
// spent. A command skips further paths in them. A nil *DownDatacenters is empty and stays so.
type DownDatacenters struct {
	names   []string
	skipped pfs.Path // the first skipped path
	more    int64    // number of further skipped paths
}

// Has reports whether the datacenter of p is down.
func (s *DownDatacenters) Has(p pfs.Path) bool {
	return s != nil && slices.Contains(s.names, datacenter(p))
}

// Note records the datacenter of p as down if err, the result of an operation on p, is
// Unavailable.
func (s *DownDatacenters) Note(p pfs.Path, err error) {
	if dc := datacenter(p); s != nil && dc != "" && errors.Is(err, pfs.Unavailable) {
		s.names = append(s.names, dc)
	}
}

// Unless calls fn, an operation on p, unless the datacenter of p is down. In that case it returns
// an error that Tell reports.
func (s *DownDatacenters) Unless(p pfs.Path, fn func() error) error {
	if !s.Has(p) {
		err := fn()
		s.Note(p, err)
		return err
	}
	if s.skipped == "" {
		s.skipped = p
	} else {
		s.more++
	}
	return cliio.Reported(cliio.Unavailable)
}

// Tell reports the skipped paths.
func (s *DownDatacenters) Tell(out *cliio.Printer) {
	switch {
	case s.more > 0:
		out.Message("%s and %s more were left out: their store does not answer", s.skipped, Count(s.more, "path", "paths"))
	case s.skipped != "":
		out.Message("%s was left out: its store does not answer", s.skipped)
	}
}
