package sftpd

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/internal/fair"
	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// TestStalledClient logs in and accepts no bytes from then on: the connection ends, whatever the time since the login.
func TestStalledClient(t *testing.T) {
	for _, idle := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			here, there := net.Pipe()
			defer here.Close()
			_ = there.SetDeadline(time.Now().Add(loginTime))
			c := &pacedConn{Conn: there}
			c.begin(func() (func(), error) { return func() {}, nil })
			time.Sleep(idle)
			began := time.Now()
			if _, err := c.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != stall {
				t.Errorf("a write after %v ends after %v: %v", idle, time.Since(began), err)
			}
		})
	}
}

// TestTurns reads from two connections of a user. The second waits until the first has carried out what it read, or has
// taken too long.
func TestTurns(t *testing.T) {
	const step = time.Millisecond
	for _, busy := range []time.Duration{step / 2, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			queue := fair.New(1)
			dial := func() *pacedConn {
				here, there := net.Pipe()
				t.Cleanup(func() { here.Close() })
				go func() { _, _ = here.Write(make([]byte, shortRead+1)) }()
				c := &pacedConn{Conn: there}
				c.begin(func() (func(), error) { return queue.TakeFor(t.Context(), step, fair.Claim{Key: "alice"}) })
				return c
			}
			began := time.Now()
			read := func(c *pacedConn, want time.Duration) {
				if _, err := c.Read(make([]byte, shortRead+1)); err != nil || time.Since(began) != want {
					t.Errorf("a read ends after %v, want %v: %v", time.Since(began), want, err)
				}
			}
			first := dial()
			read(first, 0)
			time.AfterFunc(busy, func() { _, _ = first.Read(make([]byte, 1)) }) // waits for more
			read(dial(), min(busy, step))
		})
	}
}

// TestAheadIsBounded keeps as much as it can of what comes before its turn, in many uploads of a user.
func TestAheadIsBounded(t *testing.T) {
	l := newUploads()
	u := &user{Session: gatewaytest.New(t, memfs.New(memfs.Options{})).Session(t, gatewaytest.Alice, "test")}
	var all []*upload
	for _, size := range []int{1, 256 << 10} {
		kept, pieces := 0, 0
		for range 100 {
			up := &upload{u: u, in: l, ahead: map[int64][]byte{}}
			all = append(all, up)
			for off := int64(1); up.keep(make([]byte, size), off); off += 2 * int64(size) {
				kept += size
				pieces++
			}
			if up.aheadLen > maxAhead {
				t.Errorf("an upload keeps %d bytes", up.aheadLen)
			}
		}
		if kept > maxUserAhead || pieces > maxUserAhead/aheadCost || pieces < 100 {
			t.Errorf("%d bytes in %d pieces are kept", kept, pieces)
		}
		for _, up := range all {
			l.remove(up)
		}
	}
	if len(l.ahead.each) > 0 {
		t.Errorf("%v is counted for nothing", l.ahead.each)
	}
}
