package hdfsfs

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/relay"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/datanode"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// thief loses the answers of NameNodes to changes.
type thief struct {
	methods []string        // of the changes
	moved   context.Context // is done when the connections with changes may be cut

	mu    sync.Mutex
	conns map[string]bool // over which changes came before
}

// relay returns the address of a relay to a NameNode.
func (th *thief) relay(t *testing.T, address string) string {
	return relay.New(t, func() string { return address }, func(n int, p []byte) bool { return th.pass(fmt.Sprint(address, "#", n), p) }).Address()
}

// pass lets everything through but what follows a change on its connection, and is no change: its answer.
func (th *thief) pass(conn string, p []byte) bool {
	changes := slices.ContainsFunc(th.methods, func(m string) bool { return bytes.Contains(p, []byte(m)) })
	th.mu.Lock()
	if changes && th.moved.Err() == nil {
		th.conns[conn] = true
	}
	lost := th.conns[conn]
	th.mu.Unlock()
	if !lost || changes && th.moved.Err() == nil {
		return true
	}
	<-th.moved.Done()
	return false
}

// lossy returns a file system, and the same one over relays that lose the answers to the methods until move is called.
func lossy(ctx context.Context, t *testing.T, c *testbed.HDFSCluster, methods ...string) (direct, f *FS, move func()) {
	t.Helper()
	moved, move := context.WithCancel(ctx)
	th := &thief{methods: methods, moved: moved, conns: map[string]bool{}}
	t.Cleanup(move)
	o := options(c, c.Scratch(t))
	o.Timeout = 2 * time.Minute
	direct = open(t, o)
	o.NameNodes = []string{th.relay(t, c.NameNodes[0]), th.relay(t, c.NameNodes[1])}
	return direct, open(t, o), move
}

// TestOneEffect loses the answers to changes that the active NameNode has carried out. They are repeated on the
// other one, which has become active and knows the calls: each has one effect, and no error.
func TestOneEffect(t *testing.T) {
	c := testbed.HDFSPair(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	direct, f, move := lossy(ctx, t, c, "rename2", "delete", "concat", "setXAttr", "removeXAttr")
	for _, name := range []pfs.Path{"/old", "/gone", "/target", "/source", "/with"} {
		pfstest.WriteFile(t, direct, name, []byte(name))
	}
	must(t, direct.SetXattr(ctx, "/with", "user.gone", []byte("x"), 0))
	at := f.at
	absent := func(name pfs.Path) bool {
		_, err := direct.Stat(ctx, name)
		return is(err, pfs.NotExist)
	}
	changes := map[string]struct {
		change func() error
		made   func() bool
	}{
		"rename": {func() error { return f.move(ctx, at("/old"), at("/new"), true) }, func() bool { return absent("/old") && !absent("/new") }},
		"delete": {func() error {
			there, err := f.deleteAt(ctx, at("/gone"), false)
			if err == nil && !there {
				err = pfs.NotExist
			}
			return err
		}, func() bool { return absent("/gone") }},
		"concat": {func() error { return f.concat(ctx, at("/target"), []string{at("/source")}) }, func() bool { return absent("/source") }},
		"setXAttr": {func() error { return f.putXattr(ctx, at("/with"), "user.a", []byte("b"), createXattr) }, func() bool {
			value, err := direct.Xattr(ctx, "/with", "user.a")
			return err == nil && string(value) == "b"
		}},
		"removeXAttr": {func() error { return f.RemoveXattr(ctx, "/with", "user.gone") }, func() bool {
			_, err := direct.Xattr(ctx, "/with", "user.gone")
			return is(err, pfs.NoAttr)
		}},
	}
	var group sync.WaitGroup
	for name, step := range changes {
		group.Go(func() {
			if err := step.change(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	for name, step := range changes {
		for !step.made() {
			if err := wait(ctx, 10*time.Millisecond); err != nil {
				t.Fatalf("%s is not carried out: %v", name, err)
			}
		}
	}
	c.Failover(t, "nn2")
	move()
	group.Wait()
	for name, step := range changes {
		if !step.made() {
			t.Errorf("%s is undone", name)
		}
	}
	pfstest.WantFile(t, direct, "/new", []byte("/old"))
	pfstest.WantFile(t, direct, "/target", []byte("/target/source"))
}

// TestOneBlock does the same with the calls of a writer: each file has one writer, and one block.
func TestOneBlock(t *testing.T) {
	c := testbed.HDFSPair(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	direct, f, move := lossy(ctx, t, c, "create", "append", "addBlock", "complete", "updatePipeline")
	l, err := direct.layout(ctx)
	must(t, err)
	begun := func(name pfs.Path) *attempt {
		a, err := direct.begin(ctx, f.at(name), l)
		must(t, err)
		return a
	}
	written := func(name pfs.Path) *attempt {
		a := begun(name)
		must(t, a.write([]byte("content")))
		return a
	}
	finish := func(a *attempt, err error) error {
		if err != nil {
			return err
		}
		a.fs = direct
		if err := a.write([]byte("content")); err != nil {
			return err
		}
		return a.finish(ctx)
	}
	pfstest.WriteFile(t, direct, "/appended", []byte("before"))
	st, err := direct.statusAt(ctx, f.at("/appended"))
	must(t, err)
	added, completed, updated := begun("/added"), written("/completed"), begun("/updated")
	first := pfstest.Pattern(1, small)
	must(t, added.write(first)) // a whole block, which the next one is added to
	block, err := updated.addBlock(ctx, nil)
	must(t, err)
	fresh, err := updated.Renew(ctx, block.GetBlock())
	must(t, err)
	for _, a := range []*attempt{added, completed, updated} {
		a.fs = f
	}
	calls := map[string]func() error{
		"create": func() error { return finish(f.begin(ctx, f.at("/created"), l)) },
		"append": func() error {
			a, err := f.beginAppend(ctx, f.at("/appended"), st)
			if err == nil {
				a.fs = direct
				err = a.write([]byte("content"))
			}
			if err == nil {
				err = a.closeFile(ctx)
			}
			return err
		},
		"addBlock": func() error {
			located, err := added.addBlock(ctx, nil)
			if err != nil {
				return err
			}
			added.fs = direct
			if added.now, err = direct.nodes.Create(added, located, added.options(), added.sums); err == nil {
				err = finish(added, nil)
			}
			return err
		},
		"complete": func() error { return completed.closeFile(ctx) },
		"updatePipeline": func() error {
			return updated.Replace(ctx, block.GetBlock(), fresh.GetBlock(), block.GetLocations(), block.GetStorageIds())
		},
	}
	var group sync.WaitGroup
	var waiting sync.WaitGroup
	waiting.Add(len(calls))
	for name, call := range calls {
		group.Go(func() {
			waiting.Done()
			if err := call(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	waiting.Wait()
	for { // until the changes that can be seen are made
		_, created := direct.statusAt(ctx, f.at("/created"))
		at, err := direct.located(ctx, f.at("/added"), 0, 1)
		must(t, err)
		if created == nil && at.GetLastBlock().GetBlock().GetBlockId() != added.last.GetBlockId() {
			break
		}
		must(t, wait(ctx, 10*time.Millisecond))
	}
	c.Failover(t, "nn2")
	move()
	group.Wait()
	for name, want := range map[pfs.Path]string{"/created": "content", "/added": string(first) + "content", "/completed": "content", "/appended": "beforecontent"} {
		pfstest.WantFile(t, direct, name, []byte(want))
		found, err := direct.located(ctx, f.at(name), 0, 2*small)
		if want := 1 + len(want)/small; err != nil || len(found.GetBlocks()) != want {
			t.Errorf("%s has %d blocks, want %d, %v", name, len(found.GetBlocks()), want, err)
		}
	}
}

// outage is a NameNode that can be reached only while it is up.
type outage struct {
	down atomic.Bool
	*relay.Relay
}

func newOutage(t *testing.T, address string) *outage {
	o := new(outage)
	o.Relay = relay.New(t, func() string {
		if o.down.Load() {
			return "127.0.0.1:1"
		}
		return address
	}, func(int, []byte) bool { return !o.down.Load() })
	return o
}

// lasts makes the NameNode unreachable for a while.
func (o *outage) lasts(d time.Duration) {
	o.down.Store(true)
	time.AfterFunc(d, func() { o.down.Store(false) })
}

// TestLongFailover has no active NameNode for longer than a call waits: while a file is synced, while its pipeline is repaired,
// and while it is closed. Nothing is lost, not even if the failover takes too long for the Sync.
func TestLongFailover(t *testing.T) {
	c := testbed.HDFS(t)
	o := options(c, c.Scratch(t))
	node := newOutage(t, c.NameNodes[0])
	o.NameNodes = []string{node.Address()}
	o.Timeout = 4 * time.Second
	f := open(t, o)
	f.nodes.Close()
	var cut, never atomic.Bool
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		return cutConn{conn, &cut, &never}, err
	}
	f.nodes = datanode.NewClient(datanode.Options{Timeout: f.opts.Timeout, Dial: dial})
	const failover = 3 * time.Second
	data := pfstest.Pattern(4, small/2)
	h := openFor(t, f, "/f", appending|pfs.OpenCreate)
	written := 0
	write := func(n int) {
		t.Helper()
		appendAll(t, h, data[written:written+n])
		written += n
	}
	write(1000)
	node.lasts(failover)
	must(t, h.Sync(t.Context()))
	write(1000)
	cut.Store(true)
	node.lasts(failover)
	must(t, h.Sync(t.Context()))
	if cut.Load() {
		t.Error("the pipeline was not cut")
	}
	write(1000)
	node.down.Store(true)
	pfstest.WantKind(t, h.Sync(t.Context()), pfs.Unavailable)
	node.down.Store(false)
	write(1000)
	must(t, h.Sync(t.Context()))
	write(1000)
	node.lasts(failover)
	must(t, h.Close(t.Context()))
	pfstest.WantFile(t, f, "/f", data[:written])
}
