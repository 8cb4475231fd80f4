package pfstest

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

var capabilityPromises = []promise{
	// An operation counts as possible unless the answer is Unsupported: a store may refuse for other
	// reasons, such as permissions.
	{says: "Capabilities returns what the operations can do", needs: NoCapabilities, check: func(e *env) {
		said, err := pfs.CapabilitiesOf(e.ctx, e.fs, pfs.Root)
		e.ok(err)
		for c, try := range tries {
			dir := pfs.Root.Join(fmt.Sprintf("try-%x", uint64(c)))
			MustMkdir(e, e.fs, dir+"/sub")
			for _, name := range []pfs.Path{"/f", "/g", "/sub/f"} {
				WriteFile(e, e.fs, dir+name, []byte("content"))
			}
			below, err := pfs.CapabilitiesOf(e.ctx, e.fs, dir)
			if e.ok(err); below != said {
				e.Errorf("Capabilities are %#x at the root and %#x below", said, below)
			}
			err = try(e, dir)
			if can := !errors.Is(err, pfs.Unsupported); can != said.Has(c) {
				e.Errorf("capability %#x: said %v, tried: %v", uint64(c), said.Has(c), err)
			}
		}
	}},
}

// tries has an operation for each capability, on a new directory with the files f and g, and a
// subdirectory with one file.
var tries = map[pfs.Capabilities]func(e *env, dir pfs.Path) error{
	pfs.CanRename:    func(e *env, dir pfs.Path) error { return e.fs.Rename(e.ctx, dir+"/f", dir+"/new") },
	pfs.CanRenameDir: func(e *env, dir pfs.Path) error { return e.fs.Rename(e.ctx, dir+"/sub", dir+"/new") },
	pfs.CanRenameNew: func(e *env, dir pfs.Path) error {
		return pfs.RenameExclusive(e.ctx, e.fs, dir+"/f", dir+"/new")
	},
	pfs.CanKeepEmptyDir: func(e *env, dir pfs.Path) error {
		e.ok(e.fs.Mkdir(e.ctx, dir+"/empty", 0o755))
		_, err := e.fs.Stat(e.ctx, dir+"/empty")
		if errors.Is(err, pfs.NotExist) {
			return pfs.Unsupported
		}
		return err
	},
	pfs.CanReadStaged: func(e *env, dir pfs.Path) error {
		w := e.stage(dir+"/new", pfs.CreateOptions{}, []byte("content"))
		_, err := w.ReadAt(e.ctx, make([]byte, 7), 0)
		return err
	},
	pfs.CanOpenHandle: func(e *env, dir pfs.Path) error { return e.tryHandle(dir+"/f", pfs.OpenRead, nil) },
	pfs.CanAppend: func(e *env, dir pfs.Path) error {
		return e.tryHandle(dir+"/f", pfs.OpenWrite|pfs.OpenAppend, func(h pfs.Handle) error { return errOf(h.WriteAt(e.ctx, []byte("more"), 7)) })
	},
	pfs.CanWriteRandom: func(e *env, dir pfs.Path) error {
		return e.tryHandle(dir+"/f", pfs.OpenWrite, func(h pfs.Handle) error { return errOf(h.WriteAt(e.ctx, []byte("x"), 1)) })
	},
	pfs.CanAllocate: func(e *env, dir pfs.Path) error {
		return e.tryHandle(dir+"/f", pfs.OpenWrite, func(h pfs.Handle) error { return h.Allocate(e.ctx, 0, 10) })
	},
	pfs.CanSetMode:  trySetAttr(pfs.AttrMode, pfs.Attrs{Mode: 0o640}),
	pfs.CanSetTimes: trySetAttr(pfs.AttrModTime, pfs.Attrs{ModTime: time.Unix(1e9, 0)}),
	pfs.CanSetOwner: func(e *env, dir pfs.Path) error {
		info := MustStat(e, e.fs, dir+"/f")
		if info.Owner != "" {
			return pfs.SetAttr(e.ctx, e.fs, dir+"/f", pfs.AttrOwner, pfs.Attrs{Owner: info.Owner})
		}
		return pfs.SetAttr(e.ctx, e.fs, dir+"/f", pfs.AttrUID, pfs.Attrs{UID: info.UID})
	},
	pfs.CanSetAccessTime:  trySetAttr(pfs.AttrAccessTime, pfs.Attrs{AccessTime: time.Unix(1e9, 0)}),
	pfs.CanSetReplication: trySetAttr(pfs.AttrReplication, pfs.Attrs{Replication: 1}),
	pfs.CanXattr: func(e *env, dir pfs.Path) error {
		return pfs.XattrsOf(e.fs).SetXattr(e.ctx, dir+"/f", "user.a", []byte("x"), 0)
	},
	pfs.CanSymlink:  func(e *env, dir pfs.Path) error { return pfs.MakeLink(e.ctx, e.fs, "f", dir+"/new") },
	pfs.CanHardLink: func(e *env, dir pfs.Path) error { return pfs.HardLink(e.ctx, e.fs, dir+"/f", dir+"/new") },
	pfs.CanMknod: func(e *env, dir pfs.Path) error {
		return pfs.Mknod(e.ctx, e.fs, dir+"/new", fs.ModeNamedPipe|0o600, 0)
	},
	pfs.CanConcat: func(e *env, dir pfs.Path) error {
		return pfs.Concat(e.ctx, e.fs, dir+"/f", []pfs.Path{dir + "/g"})
	},
	pfs.CanCopyInside: func(e *env, dir pfs.Path) error {
		return errOf(pfs.CopyInside(e.ctx, e.fs, dir+"/f", dir+"/new", pfs.CopyOptions{}, nil))
	},
	pfs.CanDigest: func(e *env, dir pfs.Path) error { return errOf(digestOf(e.ctx, e.fs, dir+"/f", digest.XXH3)) },
	pfs.CanSpace:  func(e *env, dir pfs.Path) error { return errOf(pfs.SpaceOf(e.ctx, e.fs, dir)) },
	pfs.CanUsage: func(e *env, dir pfs.Path) error {
		c, ok := e.fs.(pfs.UsageReporter)
		if !ok {
			return pfs.Unsupported
		}
		_, err := c.Usage(e.ctx, dir)
		return err
	},
	pfs.CanSetQuota:     func(e *env, dir pfs.Path) error { return pfs.SetQuota(e.ctx, e.fs, dir+"/sub", 0, 0) },
	pfs.CanLocateBlocks: func(e *env, dir pfs.Path) error { return errOf(pfs.LocateBlocks(e.ctx, e.fs, dir+"/f", 0, 1)) },
}

// tryHandle opens name and does something with the handle.
func (e *env) tryHandle(name pfs.Path, flags pfs.OpenFlags, do func(pfs.Handle) error) error {
	h, err := pfs.OpenHandle(e.ctx, e.fs, name, flags, 0)
	if err != nil {
		return err
	}
	if do != nil {
		err = do(h)
	}
	if closing := h.Close(e.ctx); err == nil {
		err = closing
	}
	return err
}

// trySetAttr returns a try of SetAttr.
func trySetAttr(mask pfs.AttrMask, attrs pfs.Attrs) func(e *env, dir pfs.Path) error {
	return func(e *env, dir pfs.Path) error { return pfs.SetAttr(e.ctx, e.fs, dir+"/f", mask, attrs) }
}
