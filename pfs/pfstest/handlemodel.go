package pfstest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// checkHandleModel does the same random steps on the store and on memfs, and compares the results
// of each step and the contents of the files at the end.
func checkHandleModel(e *env) {
	seeds := 8
	if e.opts.Names < 1000 {
		seeds = 2 // a store or decorator that is tested less
	}
	for seed := range uint64(seeds) {
		m := handleModel{env: e, random: rand.New(rand.NewPCG(seed, 1)), dir: pfs.Root.Join(fmt.Sprint("model-", seed))}
		m.both = [2]pfs.FileSystem{e.fs, memfs.New(memfs.Options{})}
		for _, fsys := range m.both {
			MustMkdir(e, fsys, m.dir)
		}
		for range 120 {
			m.step()
		}
		for len(m.open) > 0 {
			m.close(0)
		}
		m.same("list", func(i int) (string, error) { return fmt.Sprint(Names(e, m.both[i], m.dir)), nil })
		names := Names(e, m.both[1], m.dir)
		for _, name := range names {
			WantFile(e, m.both[0], m.dir.Join(name), ReadFile(e, m.both[1], m.dir.Join(name)))
		}
	}
}

// handleModel is a run of random steps on two stores.
type handleModel struct {
	*env
	random *rand.Rand
	dir    pfs.Path
	both   [2]pfs.FileSystem // the store, and memfs
	open   [][2]pfs.Handle
	log    bytes.Buffer
}

func (m *handleModel) name() pfs.Path { return m.dir.Join(string('a' + rune(m.random.IntN(4)))) }

// same does one step on both stores. A step returns what it found, as text.
func (m *handleModel) same(what string, step func(i int) (string, error)) bool {
	m.Helper()
	fmt.Fprintln(&m.log, what)
	var found [2]string
	var errs [2]error
	for i := range found {
		found[i], errs[i] = step(i)
		if errs[i] != nil {
			found[i] = pfs.KindOf(errs[i]).Error()
		}
	}
	if found[0] != found[1] {
		m.Fatalf("%s: the store returns %s (%v), memfs %s (%v), after\n%s", what, found[0], errs[0], found[1], errs[1], m.log.String())
	}
	return errs[0] == nil
}

func (m *handleModel) step() {
	r := m.random
	if k := r.IntN(10); k >= 4 && len(m.open) > 0 {
		m.handleStep(r.IntN(len(m.open)))
		return
	}
	switch a, b := m.name(), m.name(); r.IntN(7) {
	case 0:
		if m.sameFile(a, b) {
			return // the contract does not say whether the old name stays
		}
		m.same(fmt.Sprintf("Rename %s %s", a, b), func(i int) (string, error) { return "", m.both[i].Rename(m.ctx, a, b) })
	case 1:
		m.same(fmt.Sprintf("Remove %s", a), func(i int) (string, error) { return "", m.both[i].Remove(m.ctx, a) })
	case 2:
		data := Pattern(r.Uint64(), r.IntN(100_000))
		m.same(fmt.Sprintf("replace %s by %d bytes", a, len(data)), func(i int) (string, error) {
			WriteFile(m, m.both[i], a, data)
			return "", nil
		})
	case 3:
		if !m.lacks(NoHardLink) {
			m.same(fmt.Sprintf("HardLink %s %s", a, b), func(i int) (string, error) { return "", pfs.HardLink(m.ctx, m.both[i], a, b) })
		}
	default:
		m.openHandle(a)
	}
}

// sameFile reports whether a and b are two names of one file.
func (m *handleModel) sameFile(a, b pfs.Path) bool {
	i, err := m.both[1].Stat(m.ctx, a)
	k, err2 := m.both[1].Stat(m.ctx, b)
	return a != b && err == nil && err2 == nil && i.ID == k.ID
}

func (m *handleModel) openHandle(name pfs.Path) {
	if len(m.open) == 5 {
		m.close(m.random.IntN(5))
	}
	flags := []pfs.OpenFlags{
		pfs.OpenRead, readWrite, readWrite | pfs.OpenCreate, readWrite | pfs.OpenCreate | pfs.OpenAppend,
		readWrite | pfs.OpenCreate | pfs.OpenTruncate, readWrite | pfs.OpenCreate | pfs.OpenExclusive, pfs.OpenWrite | pfs.OpenAppend,
	}[m.random.IntN(7)]
	var h [2]pfs.Handle
	if m.same(fmt.Sprintf("OpenHandle %s %#x is handle %d", name, uint8(flags), len(m.open)), func(i int) (_ string, err error) {
		h[i], err = pfs.OpenHandle(m.ctx, m.both[i], name, flags, 0o644)
		return "", err
	}) {
		m.open = append(m.open, h)
	}
}

func (m *handleModel) close(at int) {
	h := m.open[at]
	m.same(fmt.Sprintf("close handle %d", at), func(i int) (string, error) { return "", h[i].Close(m.ctx) })
	m.open = append(m.open[:at], m.open[at+1:]...)
}

func (m *handleModel) handleStep(at int) {
	h, r := m.open[at], m.random
	off, n := r.Int64N(200_000), r.IntN(70_000)
	switch r.IntN(6) {
	case 0:
		m.close(at)
	case 1:
		m.same(fmt.Sprintf("truncate handle %d to %d", at, off), func(i int) (string, error) { return "", h[i].Truncate(m.ctx, off) })
	case 2, 3:
		data := Pattern(r.Uint64(), n)
		m.same(fmt.Sprintf("write %d bytes at %d of handle %d", n, off, at), func(i int) (string, error) {
			k, err := h[i].WriteAt(m.ctx, data, off)
			return fmt.Sprint(k), err
		})
	case 4:
		m.same(fmt.Sprintf("read %d bytes at %d of handle %d", n, off, at), func(i int) (string, error) {
			p := make([]byte, n)
			k, err := h[i].ReadAt(m.ctx, p, off)
			if err == io.EOF {
				err = nil
			}
			return fmt.Sprintf("%x", digestOfBytes(p[:k], "xxh3")), err
		})
	default:
		m.same(fmt.Sprintf("stat handle %d", at), func(i int) (string, error) {
			info, err := h[i].Stat(m.ctx)
			return fmt.Sprint(info.Size), err
		})
	}
}
