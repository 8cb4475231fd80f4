package hdfsfs

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
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

var (
	faultCount = flag.Int("faults", 10, "faults of TestRandomFaults for each kind of cluster")
	faultSeed  = flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of TestRandomFaults")
)

// campaign is a file system under load, and what its cluster must have.
type campaign struct {
	t      *testing.T
	c      *testbed.HDFSCluster
	f      *FS
	random *rand.Rand // of the faults

	cutNameNodes atomic.Bool  // each connection is cut at the next bytes
	hits         atomic.Int32 // left of the present fault of connections to DataNodes
	left         atomic.Int64 // bytes until the next one
	cuts         bool         // they cut, and do not flip a bit

	mu    sync.Mutex
	files map[pfs.Path]versions // that were acknowledged
	done  map[string]int        // of the load, by its kind
}

// versions is what a file has: all of it, or the version that was being written when the load ended.
type versions struct{ now, next []byte }

// rough is a connection to a DataNode that a fault hits.
type rough struct {
	net.Conn
	k *campaign
}

func (r rough) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	if n > 0 && r.k.hit(p[:n]) {
		r.Conn.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

func (r rough) Write(p []byte) (int, error) {
	q := p
	if r.k.hits.Load() > 0 {
		q = bytes.Clone(p)
	}
	if r.k.hit(q) {
		r.Conn.Close()
		return 0, net.ErrClosed
	}
	return r.Conn.Write(q)
}

// hit spoils p if it is its turn. It reports whether the connection is to be cut.
func (k *campaign) hit(p []byte) (cut bool) {
	if k.hits.Load() <= 0 || k.left.Add(-int64(len(p))) > 0 {
		return false
	}
	if k.hits.Add(-1) < 0 {
		return false
	}
	k.left.Store(rand.Int64N(1 << 20))
	if k.cuts {
		return true
	}
	p[rand.IntN(len(p))] ^= 1 << rand.IntN(8)
	return false
}

// newCampaign opens the file system over relays to the NameNodes and over rough connections to the DataNodes.
func newCampaign(t *testing.T, c *testbed.HDFSCluster, o Options) *campaign {
	k := &campaign{t: t, c: c, random: rand.New(rand.NewPCG(*faultSeed, 0)), files: map[pfs.Path]versions{}, done: map[string]int{}}
	o.Timeout = 5 * time.Second
	direct := o.NameNodes
	o.NameNodes = nil
	for _, address := range direct {
		r := relay.New(t, func() string { return address }, func(int, []byte) bool { return !k.cutNameNodes.Load() })
		o.NameNodes = append(o.NameNodes, r.Address())
	}
	if o.Kerberos != nil {
		o.Kerberos.Service = "nn/localhost"
	}
	k.f = open(t, o)
	k.f.nodes = datanode.NewClient(datanode.Options{
		Dial: func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{Timeout: o.Timeout / 2}).DialContext(ctx, "tcp", address)
			return rough{conn, k}, err
		},
		Timeout: o.Timeout, Hedge: true,
		Security: datanode.Security{Protections: o.protections(), EncryptionKey: k.f.encryptionKey},
	})
	return k
}

// faults are the kinds of faults. Each returns when it is over.
func (k *campaign) faults() map[string]func() {
	c, t := k.c, k.t
	node := func() string { return fmt.Sprintf("dn%d", 1+k.random.IntN(3)) }
	pause := func(most time.Duration) { must(t, wait(t.Context(), time.Duration(k.random.Int64N(int64(most))))) }
	connections := func(cuts bool) {
		k.cuts = cuts
		k.left.Store(k.random.Int64N(1 << 20))
		k.hits.Store(1 + k.random.Int32N(4))
		for end := time.Now().Add(3 * time.Second); k.hits.Load() > 0 && time.Now().Before(end); {
			pause(100 * time.Millisecond)
		}
		k.hits.Store(0)
	}
	all := map[string]func(){
		"a DataNode killed": func() { dn := node(); c.Kill(t, dn); pause(3 * time.Second); c.Start(t, dn) },
		"two DataNodes killed": func() {
			one, other := node(), node()
			c.Kill(t, one)
			pause(time.Second)
			c.Kill(t, other)
			pause(3 * time.Second)
			c.Do(t, "start", one, other)
		},
		"a DataNode stopped":                             func() { dn := node(); c.Pause(t, dn); pause(8 * time.Second); c.Resume(t, dn) },
		"connections to DataNodes cut":                   func() { connections(true) },
		"a bit flipped on the way to or from a DataNode": func() { connections(false) },
		"connections to NameNodes cut": func() {
			for range 1 + k.random.IntN(3) {
				k.cutNameNodes.Store(true)
				pause(300 * time.Millisecond)
				k.cutNameNodes.Store(false)
				pause(time.Second)
			}
		},
	}
	if len(c.NameNodes) > 1 {
		active := 1
		all["another NameNode becomes active"] = func() { active = 3 - active; c.Failover(t, fmt.Sprintf("nn%d", active)) }
		return all
	}
	all["the NameNode killed"] = func() { c.Kill(t, "nn"); pause(2 * time.Second); c.Start(t, "nn") }
	all["the NameNode stopped"] = func() { c.Pause(t, "nn"); pause(8 * time.Second); c.Resume(t, "nn") }
	if c.Keytabs != "" {
		all["the KDC killed"] = func() {
			c.Kill(t, "kdc")
			connectAgain(k.f)
			pause(3 * time.Second)
			c.Start(t, "kdc")
		}
	}
	return all
}

// patience is how long a step of the load is repeated.
const patience = 4 * time.Minute

// again repeats a step until it succeeds or fails with an error that is not of the kinds.
func (k *campaign) again(ctx context.Context, what string, step func() error, kinds ...pfs.Kind) bool {
	var failures []string
	for start := time.Now(); ; {
		began := time.Now()
		err := step()
		switch {
		case err == nil:
			return true
		case ctx.Err() != nil:
			return false
		}
		failures = append(failures, fmt.Sprintf("%s: %v for %v: %v", began.Format(time.TimeOnly), what, time.Since(began), err))
		if !is(err, append(kinds, pfs.Unavailable)...) || time.Since(start) > patience {
			k.t.Error(strings.Join(failures, "\n"))
			return false
		}
		_ = wait(ctx, 100*time.Millisecond)
	}
}

// count records what is done.
func (k *campaign) count(what string, n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.done[what] += n
}

// begin records that a file is about to be replaced.
func (k *campaign) begin(name pfs.Path, data []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.files[name] = versions{now: k.files[name].now, next: data}
}

// holds records that a file was written, and reads it back.
func (k *campaign) holds(ctx context.Context, name pfs.Path, data []byte) bool {
	k.mu.Lock()
	k.files[name] = versions{now: data}
	k.mu.Unlock()
	// Where bits are flipped on their way again and again, all three replicas of a block look damaged.
	return k.again(ctx, "read "+string(name), func() error {
		got, err := readAll(ctx, k.f, name, 1+rand.IntN(small))
		if !bytes.HasPrefix(data, got) || err == nil && len(got) < len(data) {
			k.t.Errorf("%s: wrong bytes were delivered", name)
			return nil
		}
		return err
	}, pfs.Integrity)
}

// upload replaces files again and again.
func (k *campaign) upload(ctx context.Context, worker int) {
	for n := 0; ctx.Err() == nil; n++ {
		name := pfs.Path(fmt.Sprintf("/uploaded-%d-%d", worker, n%5))
		data, id := pfstest.Pattern(rand.Uint64(), rand.IntN(5*small)), pfs.NewID()
		k.begin(name, data)
		if !k.again(ctx, "upload of "+string(name), func() error {
			w, err := k.f.Create(ctx, name, pfs.CreateOptions{ID: id})
			if err != nil {
				return err
			}
			defer w.Close(context.WithoutCancel(ctx))
			if err := send(ctx, w, data, func(int) {}); err != nil {
				return err
			}
			_, err = w.Commit(ctx, pfs.CommitOptions{Size: int64(len(data))})
			return err
		}, pfs.Integrity) || !k.holds(ctx, name, data) {
			return
		}
		k.count("files uploaded", 1)
	}
}

// batch writes small files.
func (k *campaign) batch(ctx context.Context, worker int) {
	for n := 0; ctx.Err() == nil; n++ {
		var entries []pfs.BatchEntry
		for i := range 10 {
			name := pfs.Path(fmt.Sprintf("/small-%d-%d-%d", worker, n%5, i))
			entries = append(entries, pfs.BatchEntry{Path: name, Data: pfstest.Pattern(rand.Uint64(), 1+rand.IntN(20_000))})
		}
		for _, e := range entries {
			k.begin(e.Path, e.Data)
			if !k.again(ctx, "small file "+string(e.Path), func() error { return k.f.WriteBatch(ctx, []pfs.BatchEntry{e})[0] }) {
				return
			}
		}
		for i, err := range k.f.WriteBatch(ctx, entries) { // the same again, together
			if err != nil && !is(err, pfs.Unavailable) && ctx.Err() == nil {
				k.t.Errorf("batch: %v", err)
			}
			if !k.holds(ctx, entries[i].Path, entries[i].Data) {
				return
			}
		}
		k.count("small files written", 2*len(entries))
	}
}

// add appends to files and compares them: they keep all bytes that were synced, and have no others than those that were written.
func (k *campaign) add(ctx context.Context, worker int) {
	for n := 0; ctx.Err() == nil; n++ {
		name := pfs.Path(fmt.Sprintf("/appended-%d-%d", worker, n))
		data := pfstest.Pattern(rand.Uint64(), 3*small)
		var h pfs.Handle
		at, synced := 0, 0
		reopen := func() error {
			var err error
			as := pfs.WithHandleID(ctx, pfs.HandleID{ID: pfs.NewID(), Continue: true})
			if h != nil {
				_ = h.Close(context.WithoutCancel(ctx))
			}
			if h, err = k.f.OpenHandle(as, name, appending|pfs.OpenCreate, 0o600); err != nil {
				return err
			}
			info, err := h.Stat(ctx)
			if err != nil {
				return err
			}
			if info.Size < int64(synced) || info.Size > int64(at) {
				k.t.Errorf("%s has %d bytes; %d were synced and %d written", name, info.Size, synced, at)
			}
			at = int(info.Size)
			// Bytes that were not synced may be damaged. Only the last DataNode compares them with their checksums, and HDFS may keep
			// the replica of another one. They are removed and written again.
			if got := make([]byte, at-synced); len(got) > 0 {
				if _, err := h.ReadAt(ctx, got, int64(synced)); err != nil {
					if err := h.Truncate(ctx, int64(synced)); err != nil {
						return err
					}
					k.t.Logf("%s: %d bytes that were not synced cannot be read: %v", name, len(got), err)
					k.count("tails removed", 1)
					at = synced
				}
			}
			return nil
		}
		ok := k.again(ctx, "create "+string(name), func() error {
			err := reopen()
			if is(err, pfs.NotExist) { // it is made without Continue
				h, err = k.f.OpenHandle(ctx, name, appending|pfs.OpenCreate, 0o600)
			}
			return err
		}, pfs.Conflict)
		for ok && at < len(data) {
			end := min(len(data), at+1+rand.IntN(200_000))
			_, err := h.WriteAt(ctx, data[at:end], 0)
			if err == nil {
				at = end
				if rand.IntN(3) == 0 || at == len(data) {
					err = h.Sync(ctx)
				} else {
					continue
				}
			} else {
				at = end // some of it may be there
			}
			if err == nil {
				synced = at
				k.begin(name, data[:synced])
				continue
			}
			if !is(err, pfs.Stale, pfs.Unavailable, pfs.Conflict) && ctx.Err() == nil {
				k.t.Errorf("append to %s: %v", name, err)
			}
			ok = k.again(ctx, "continue "+string(name), reopen, pfs.Conflict, pfs.Stale)
			synced = at // HDFS has closed the file
		}
		if h != nil {
			_ = h.Close(context.WithoutCancel(ctx))
		}
		if !ok || !k.holds(ctx, name, data) {
			return
		}
		k.count("MiB appended", len(data)>>20)
	}
}

// check compares a file with what it may have at the end.
func (k *campaign) check(direct *FS, name pfs.Path, want versions) {
	got, err := readSoon(k.t.Context(), direct, name)
	switch {
	case is(err, pfs.NotExist) && want.now == nil:
	case strings.HasPrefix(string(name), "/appended-") && want.now == nil && err == nil && bytes.HasPrefix(got, want.next):
	case err != nil || !bytes.Equal(got, want.now) && !bytes.Equal(got, want.next):
		k.t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(want.now), err)
	}
}

// TestRandomFaults injects faults into clusters of each kind under load. Every byte that is read, and every file at the end, is right.
func TestRandomFaults(t *testing.T) {
	testbed.Long(t)
	for _, kind := range clusters {
		t.Run(kind.name, func(t *testing.T) { randomFaults(t, kind) })
	}
}

func randomFaults(t *testing.T, kind clusterKind) {
	c := kind.start(t)
	o := kind.options(t, c, c.Scratch(t))
	direct := open(t, o)
	if o.Kerberos != nil {
		again := *o.Kerberos
		o.Kerberos = &again
	}
	k := newCampaign(t, c, o)
	t.Logf("-seed=%d", *faultSeed)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var load sync.WaitGroup
	for worker := range 2 {
		for _, work := range []func(context.Context, int){k.upload, k.batch, k.add} {
			load.Go(func() { work(ctx, worker) })
		}
	}
	faults := k.faults()
	kinds, counts := slices.Sorted(maps.Keys(faults)), map[string]int{}
	for n := 0; n < *faultCount && !t.Failed(); n++ {
		kind := kinds[k.random.IntN(len(kinds))]
		counts[kind]++
		t.Logf("%s: %s", time.Now().Format(time.TimeOnly), kind)
		faults[kind]()
		must(t, wait(t.Context(), 300*time.Millisecond))
		if n%25 == 24 {
			t.Logf("%d faults, %v", n+1, k.done)
		}
	}
	_ = wait(t.Context(), 5*time.Second)
	end()
	load.Wait()
	c.Do(t, "up")
	for name, want := range k.files {
		k.check(direct, name, want)
	}
	t.Logf("%d files are right", len(k.files))
	for _, kind := range kinds {
		t.Logf("| %s | %d |", kind, counts[kind])
	}
	t.Logf("%v", k.done)
}
