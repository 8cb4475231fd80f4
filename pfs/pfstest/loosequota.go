package pfstest

import (
	"fmt"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// looseTime is how long a loose quota may take until it is enforced or lifted.
const looseTime = time.Minute

// inTheEnd calls try until it returns true.
func (e *env) inTheEnd(what string, try func() (done bool)) {
	e.Helper()
	for end := time.Now().Add(looseTime); !try(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			e.Fatalf("%s: not within %v", what, looseTime)
		}
	}
}

// refused reports whether err is a Quota error. Any other error fails the test.
func (e *env) refused(err error) bool {
	e.Helper()
	if err != nil {
		WantKind(e, err, pfs.Quota)
		if !strings.Contains(err.Error(), " of the limit of ") {
			e.Errorf("%q does not state the limit", err)
		}
	}
	return err != nil
}

// checkLooseBytes removes each file that exceeds the quota and was still accepted, so that the store
// does not grow until the quota is enforced.
func checkLooseBytes(e *env) {
	const limit = 1 << 20
	MustMkdir(e, e.fs, "/home/below")
	e.ok(pfs.SetQuota(e.ctx, e.fs, "/home", limit, 0))
	data := Pattern(1, 8*limit)
	if e.refused(e.write("/home/f", data, pfs.CommitOptions{})) {
		WriteFile(e, e.fs, "/home/f", data[:limit/2])
	}
	e.inTheEnd("a write far beyond the quota is refused", func() bool {
		err := e.write("/home/below/g", data, pfs.CommitOptions{})
		if err == nil {
			e.ok(e.fs.Remove(e.ctx, "/home/below/g"))
		}
		return e.refused(err)
	})
	WantAbsent(e, e.fs, "/home/below/g")
	e.ok(pfs.SetQuota(e.ctx, e.fs, "/home", 0, 0))
	e.inTheEnd("a quota is lifted", func() bool {
		return !e.refused(e.write("/home/below/g", data, pfs.CommitOptions{}))
	})
	WantFile(e, e.fs, "/home/below/g", data)
}

func checkLooseFiles(e *env) {
	MustMkdir(e, e.fs, "/home")
	e.ok(pfs.SetQuota(e.ctx, e.fs, "/home", 0, 3))
	n := 0
	e.inTheEnd("a file far beyond the quota is refused", func() bool {
		n++
		return e.refused(e.write(pfs.Path(fmt.Sprintf("/home/f%d", n)), nil, pfs.CommitOptions{}))
	})
	if n == 1 {
		e.Error("the first file was refused, and 3 are allowed")
	}
	e.ok(pfs.SetQuota(e.ctx, e.fs, "/home", 0, 0))
	e.inTheEnd("a quota is lifted", func() bool {
		return !e.refused(e.write("/home/last", nil, pfs.CommitOptions{}))
	})
}
