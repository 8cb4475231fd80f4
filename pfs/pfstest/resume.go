package pfstest

import "github.com/paddlecloud/pfs/pfs"

var resumePromises = []promise{
	{says: "Create takes the ID it is given, or chooses a new one", check: func(e *env) {
		seen := map[string]bool{}
		for range 20 {
			w := e.create("/f", pfs.CreateOptions{})
			if id := w.ID(); !pfs.ValidID(id) || seen[id] {
				e.Fatalf("ID %q is not valid or not fresh", id)
			}
			seen[w.ID()] = true
		}
		for _, id := range []string{"12345678", someID, "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"} {
			w := e.create("/f", pfs.CreateOptions{ID: id})
			if w.ID() != id || w.Resumed() {
				e.Errorf("Create with ID %q gives %q, resumed %v", id, w.ID(), w.Resumed())
			}
		}
	}},
	{says: "an ID of another form, or Reopen without an ID, answers Invalid", check: func(e *env) {
		for _, id := range []string{"short", "UPPERCASE", "with/slash", "../../../../etc", "with space", "ünïcödé1", "12345678\x00"} {
			WantKind(e, errOf(e.fs.Create(e.ctx, "/f", pfs.CreateOptions{ID: id})), pfs.Invalid)
		}
		WantKind(e, errOf(e.fs.Create(e.ctx, "/f", pfs.CreateOptions{Reopen: true})), pfs.Invalid)
		WantKind(e, errOf(e.fs.Create(e.ctx, "/f", pfs.CreateOptions{Size: -1})), pfs.Invalid)
	}},
	{says: "Suspend keeps the staged bytes, under no name", needs: NoReadStaged, check: func(e *env) {
		w := e.stage("/f", pfs.CreateOptions{ID: someID}, Pattern(1, 1000))
		e.ok(w.Suspend(e.ctx))
		e.ok(w.Suspend(e.ctx))
		e.ok(w.Close(e.ctx))
		WantAbsent(e, e.fs, "/f")
		WantNames(e, e.fs, pfs.Root)
		e.wantStaged(e.create("/f", pfs.CreateOptions{ID: someID, Reopen: true}), Pattern(1, 1000))
	}},
	{says: "Create with the ID resumes a suspended upload", needs: NoReadStaged, check: func(e *env) {
		w := e.create("/f", pfs.CreateOptions{ID: someID})
		unit := w.Unit()
		e.writeUnit(w, 0, unit)
		e.ok(w.Suspend(e.ctx))
		e.goOn(unit)
	}},
	{says: "LeafDigests describe what a resumed upload holds", check: checkResumedLeaves, needs: NoLeafDigests},
	{says: "an upload may be suspended again and again", check: func(e *env) {
		w := e.create("/f", pfs.CreateOptions{ID: someID})
		unit := w.Unit()
		e.ok(w.Suspend(e.ctx))
		for i := range int64(3) {
			w := e.create("/f", pfs.CreateOptions{ID: someID})
			e.writeUnit(w, i*unit, unit)
			e.ok(w.Suspend(e.ctx))
		}
		w = e.create("/f", pfs.CreateOptions{ID: someID})
		e.ok(errOf(w.Commit(e.ctx, pfs.CommitOptions{Size: 3 * unit})))
		e.wantPattern("/f", 3*unit)
	}},
	{says: "Reopen of an unknown ID answers Conflict and begins nothing", check: func(e *env) {
		WriteFile(e, e.fs, "/there", []byte("content"))
		for _, name := range []pfs.Path{"/f", "/there"} {
			e.want(errOf(e.fs.Create(e.ctx, name, pfs.CreateOptions{ID: someID, Reopen: true})), pfs.Conflict, name)
			e.wantGone(name, someID)
		}
		WantNames(e, e.fs, pfs.Root, "there")
	}},
	{says: "an ID belongs to one path", needs: NoReadStaged, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir")
		w := e.stage("/f", pfs.CreateOptions{ID: someID}, Pattern(1, 1000))
		e.ok(w.Suspend(e.ctx))
		for _, other := range []pfs.Path{"/g", "/dir/f"} {
			e.wantGone(other, someID)
			w := e.create(other, pfs.CreateOptions{ID: someID})
			if w.Resumed() {
				e.Errorf("%s resumes the upload of /f", other)
			}
			e.put(w, Pattern(2, 500))
			e.commit(w, 500)
		}
		w = e.create("/f", pfs.CreateOptions{ID: someID, Reopen: true})
		e.wantStaged(w, Pattern(1, 1000))
	}},
	{says: "Close of a resumed upload discards it", check: func(e *env) {
		w := e.stage("/f", pfs.CreateOptions{ID: someID}, Pattern(1, 1000))
		e.ok(w.Suspend(e.ctx))
		w = e.create("/f", pfs.CreateOptions{ID: someID, Reopen: true})
		e.ok(w.Close(e.ctx))
		e.wantGone("/f", someID)
	}},
	{says: "another instance finds a suspended upload", twice: true, check: func(e *env) {
		e.goOnElsewhere(func(w pfs.Staged) error { return w.Suspend(e.ctx) })
	}},
	// The upload is neither suspended nor closed, as when a process dies.
	{says: "another instance finds an abandoned upload that was synced", twice: true, check: func(e *env) {
		e.goOnElsewhere(func(w pfs.Staged) error { return w.Sync(e.ctx) })
	}},
	{says: "another instance finds a published file", twice: true, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir")
		WriteFile(e, e.fs, "/dir/f", Pattern(1, 1000))
		want := MustStat(e, e.fs, "/dir/f")
		e.elsewhere()
		e.sameInfo("the file", MustStat(e, e.fs, "/dir/f"), want)
		WantFile(e, e.fs, "/dir/f", Pattern(1, 1000))
	}},
}

const someID = "0123456789abcdefsomeid"

// goOnElsewhere stages a unit of /f, leaves the upload, and resumes it in another instance.
func (e *env) goOnElsewhere(leave func(pfs.Staged) error) {
	e.Helper()
	w, err := e.fs.Create(e.ctx, "/f", pfs.CreateOptions{ID: someID})
	e.ok(err)
	unit := w.Unit()
	e.writeUnit(w, 0, unit)
	e.ok(leave(w))
	e.elsewhere()
	WantAbsent(e, e.fs, "/f")
	e.goOn(unit)
}

// goOn resumes the upload of /f whose first unit was staged, and ends it.
func (e *env) goOn(unit int64) {
	e.Helper()
	w := e.create("/f", pfs.CreateOptions{ID: someID, Reopen: true})
	if !w.Resumed() || w.ID() != someID {
		e.Fatalf("resumed %v, ID %q", w.Resumed(), w.ID())
	}
	e.wantResumed(w, unit)
	e.writeUnit(w, unit, 1000)
	e.ok(errOf(w.Commit(e.ctx, pfs.CommitOptions{Size: unit + 1000})))
	e.wantPattern("/f", unit+1000)
}

// wantResumed fails unless the first unit of Pattern(1) can be read from w.
func (e *env) wantResumed(w pfs.Staged, unit int64) {
	e.Helper()
	p, want := make([]byte, 1000), make([]byte, 1000)
	for _, off := range []int64{0, unit / 2, unit - 1000} {
		_, err := w.ReadAt(e.ctx, p, off)
		fill(want, 1, off)
		if string(p) != string(want) {
			e.Fatalf("ReadAt %d of a resumed write = %s, %v", off, brief(p), err)
		}
	}
}

// elsewhere switches to another instance of the store.
func (e *env) elsewhere() { e.fs = e.opts.Reopen(e.T, e.fs) }
