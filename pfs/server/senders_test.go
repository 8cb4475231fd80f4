package server

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// hangingStore is a store whose first write waits.
type hangingStore struct {
	*memfs.FS
	hung    atomic.Bool
	goOn    chan struct{}
	waiting chan struct{}
}

func (l *hangingStore) OpenHandle(ctx context.Context, name pfs.Path, flags pfs.OpenFlags, perm os.FileMode) (pfs.Handle, error) {
	h, err := l.FS.OpenHandle(ctx, name, flags, perm)
	return hangingHandle{h, l}, err
}

type hangingHandle struct {
	pfs.Handle
	l *hangingStore
}

func (h hangingHandle) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	if !h.l.hung.Swap(true) {
		close(h.l.waiting)
		<-h.l.goOn
	}
	return h.Handle.WriteAt(context.WithoutCancel(ctx), p, off) // as a write that is in the kernel
}

// TestLateWrite: a process dies while the store carries out a write of it. The next one sends the write again, and then
// writes something else to the same place, which stays.
func TestLateWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hangingStore{FS: memfs.New(memfs.Options{}), goOn: make(chan struct{}), waiting: make(chan struct{})}
		s, _ := newServer(t, store, nil)
		h := mustOpen(t, s, "/f", readWrite)
		sender := pfs.NewID()
		put := func(ctx context.Context, process int, text string) error {
			target := fmt.Sprintf("%s?path=%s&handle=%s&flags=%d&file=%d", wire.PathWrite, h.Path, h.ID, h.Flags, h.File)
			id := fmt.Sprintf("%s/%d", sender, process)
			return answered(t, doWith(ctx, s, "PUT", target, onWire([]byte(text)), wire.HeaderRequest, pfs.NewID(), wire.HeaderSender, id), nil)
		}
		var running sync.WaitGroup
		died, die := context.WithCancel(t.Context())
		running.Go(func() { _ = put(died, 0, "old") })
		<-store.waiting
		die()
		running.Go(func() {
			for _, text := range []string{"old", "new"} {
				if err := put(t.Context(), 1, text); err != nil {
					t.Error(err)
				}
			}
		})
		time.Sleep(time.Second) // the turn of the next request
		close(store.goOn)
		running.Wait()
		pfstest.WantFile(t, store, "/f", []byte("new"))
		pfstest.WantKind(t, put(t.Context(), 0, "old"), pfs.Canceled) // was on its way
		pfstest.WantFile(t, store, "/f", []byte("new"))
	})
}

// TestOldSendersAreForgottenAlone: a process that replaced one long ago is remembered as long as others of its age.
func TestOldSendersAreForgottenAlone(t *testing.T) {
	s := newSenders()
	id := pfs.NewID()
	for process := range 2 {
		leave, err := s.enter(t.Context(), "alice", fmt.Sprintf("%s/%d", id, process))
		if err != nil {
			t.Fatal(err)
		}
		leave()
	}
	for range mostSenders - 1 {
		leave, err := s.enter(t.Context(), "bob", pfs.NewID()+"/0")
		if err != nil {
			t.Fatal(err)
		}
		leave()
	}
	_, err := s.enter(t.Context(), "alice", id+"/0")
	pfstest.WantKind(t, err, pfs.Canceled)
}
