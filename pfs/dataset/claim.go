package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// stagingClaim is the file of a staging directory that says which run is at work in it.
// That run writes it anew, with another number, all the time; so whoever sees the same in
// it for as long as lease has a run before it that was killed, and takes its place,
// whatever the clocks of two machines say. A run that was only silent for so long, as one
// that was suspended, finds at its next look that it has lost the directory, and ends.
type stagingClaim struct {
	fs    pfs.FileSystem
	path  pfs.Path
	run   string
	lease time.Duration

	stop func() // nil: the claim is not kept
}

const (
	claimedName    = "at-work"
	maxClaimText   = 64
	looksALease    = 5                // how often a claim is written, and looked at, in that time
	usualLease     = 10 * time.Second // of a run that shows no sign of life
	textOfOtherRun = "another run is at work there"
)

// take waits for the run that has the claim to end, or to show that it is at work,
// which is an Exist error.
func (c *stagingClaim) take(ctx context.Context, told func(string)) error {
	for {
		err := pfs.WriteBatch(ctx, c.fs, []pfs.BatchEntry{c.text(0, true)})[0]
		if !errors.Is(err, pfs.Exist) {
			return err
		}
		if c.held(ctx) == nil {
			return nil // it was written when its answer was lost
		}
		if err := c.outlive(ctx, told); err != nil {
			return err
		}
	}
}

// outlive returns once the claim is nobody's.
func (c *stagingClaim) outlive(ctx context.Context, told func(string)) error {
	before, err := c.read(ctx)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	told(fmt.Sprintf("%s: a run before was killed or is still at work: looking for %v which it is", c.path.Parent(), c.lease))
	for range looksALease {
		if err := pause(ctx, c.lease/looksALease); err != nil {
			return err
		}
		now, err := c.read(ctx)
		switch {
		case isMissing(err):
			return nil
		case err != nil:
			return err
		case !bytes.Equal(before, now):
			return failure(Busy, "dataset.Convert", c.path.Parent(), pfs.Exist, textOfOtherRun)
		}
	}
	if err := c.fs.Remove(ctx, c.path); err != nil && !isMissing(err) {
		return err
	}
	return nil
}

// pause waits, but not longer than ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return pfs.CheckContext(ctx, "dataset.Convert", "")
}

// keep writes the claim anew until release, and calls lost if it is another's.
func (c *stagingClaim) keep(ctx context.Context, lost func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	c.stop = func() { cancel(); <-done }
	go func() {
		defer close(done)
		for n := 1; pause(ctx, c.lease/looksALease) == nil; n++ {
			if errors.Is(c.held(ctx), pfs.Conflict) {
				lost()
				return
			}
			// One that cannot be written now is written the next time, or taken.
			pfs.WriteBatch(ctx, c.fs, []pfs.BatchEntry{c.text(n, false)})
		}
	}()
}

// held returns a Conflict if the claim is not this run's.
func (c *stagingClaim) held(ctx context.Context) error {
	text, err := c.read(ctx)
	switch {
	case isMissing(err):
		return pfs.Errorf("dataset.Convert", c.path.Parent(), pfs.Conflict, "it is gone: another run has completed the set, or somebody has removed what this one made")
	case err != nil:
		return err
	case !bytes.HasPrefix(text, []byte(c.run+" ")):
		return pfs.Errorf("dataset.Convert", c.path.Parent(), pfs.Conflict, textOfOtherRun)
	}
	return nil
}

// rest ends keep; the file stays.
func (c *stagingClaim) rest() {
	if c.stop != nil {
		c.stop()
		c.stop = nil
	}
}

// release gives the directory to whoever comes next.
func (c *stagingClaim) release(ctx context.Context) error {
	c.rest()
	if c.held(ctx) != nil {
		return nil
	}
	return c.fs.Remove(ctx, c.path)
}

func (c *stagingClaim) read(ctx context.Context) ([]byte, error) {
	return recordfile.ReadSmall(ctx, c.fs, c.path, maxClaimText)
}

// text is the claim for the n-th time.
func (c *stagingClaim) text(n int, first bool) pfs.BatchEntry {
	text := strconv.AppendInt([]byte(c.run+" "), int64(n), 10)
	return pfs.BatchEntry{Path: c.path, Mode: 0o644, Data: text, Digest: digest.Bytes(text), NoReplace: first}
}
