package hdfsfs

import (
	"context"
	"errors"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"github.com/paddlecloud/pfs/pfs"
)

// repeat says whether a call may be made again when it is not known if it was
// carried out.
type repeat bool

const (
	atMostOnce repeat = false // it changes what it finds: rename, remove
	idempotent repeat = true  // the second time does no harm
)

// callPauses are those before a call is made again. They bridge a connection that
// grew old in the pool and the moment in which another NameNode becomes active; a
// longer wait is the caller's.
var callPauses = []time.Duration{0, 100 * time.Millisecond, 500 * time.Millisecond}

// call makes a call of the library on a session of its own.
func (f *FS) call(ctx context.Context, r repeat, do func(c *hdfs.Client) error) error {
	return f.callSession(ctx, r, func(s *session) error { return do(s.client) })
}

// callSession is call for what needs to know the session.
func (f *FS) callSession(ctx context.Context, r repeat, do func(s *session) error) error {
	var err error
	for i := 0; ; i++ {
		var sent bool
		if sent, err = f.callOnce(ctx, do); err == nil || !f.mayRepeat(err, sent, r) || i == len(callPauses) {
			return err
		}
		if wait(ctx, callPauses[i]) != nil {
			return err
		}
	}
}

func (f *FS) callOnce(ctx context.Context, do func(s *session) error) (sent bool, err error) {
	s, err := f.pool.get(ctx)
	if err != nil {
		return false, err
	}
	defer f.pool.put(s)
	err = s.do(ctx, f.opts.Timeout, func() error { return do(s) })
	return s.wasSent(), err
}

// mayRepeat reports whether a call that failed is worth another one. A NameNode that
// answered at all has not carried it out; one that did not answer in all that time is
// asked again only if there is another, which is then the first to be asked.
func (f *FS) mayRepeat(err error, sent bool, r repeat) bool {
	var remote remoteError
	var late *noAnswer
	switch {
	case !is(err, pfs.Unavailable):
		return false
	case errors.As(err, &late) && len(f.opts.NameNodes) == 1:
		return false
	case errors.As(err, &remote):
		return remote.Exception() == standbyException
	}
	return !sent || r == idempotent
}

const standbyException = "org.apache.hadoop.ipc.StandbyException"

// wait pauses unless ctx is done.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
