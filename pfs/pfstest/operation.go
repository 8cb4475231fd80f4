package pfstest

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// otherFile and otherFree are the second paths of the operations on two paths. The checks that run
// over all operations make a file at otherFile, and nothing at otherFree.
const (
	otherFile pfs.Path = "/other-file"
	otherFree pfs.Path = "/other-free"
)

// operation is a method, or a capability, as a function of one of its paths.
type operation struct {
	name string
	gap  Gap
	call func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error

	needsName bool // answers NotExist if nothing has the name
	needsFile bool // answers IsDir if a directory has it
	makesName bool // needs the parent: NotExist without, NotDir if it is a file
	opens     bool // answers Symlink if a link has it
	anywhere  bool // may ignore the path
}

var operations = []operation{
	{name: "Open", needsName: true, needsFile: true, opens: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			f, err := fsys.Open(ctx, p)
			if err == nil {
				f.Close()
			}
			return err
		}},
	{name: "Create", needsFile: true, makesName: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			w, err := fsys.Create(ctx, p, pfs.CreateOptions{})
			if err == nil {
				w.Close(ctx)
			}
			return err
		}},
	{name: "Stat", needsName: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			_, err := fsys.Stat(ctx, p)
			return err
		}},
	{name: "List", needsName: true, opens: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			_, err := fsys.List(ctx, p, pfs.ListOptions{})
			return err
		}},
	{name: "Mkdir", makesName: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			return fsys.Mkdir(ctx, p, 0o755)
		}},
	{name: "Remove", needsName: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			return fsys.Remove(ctx, p)
		}},
	{name: "Rename from", needsName: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			return fsys.Rename(ctx, p, otherFree)
		}},
	{name: "Rename to", makesName: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			return fsys.Rename(ctx, otherFile, p)
		}},
	{name: "MakeLink", gap: NoSymlink, makesName: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			return pfs.MakeLink(ctx, fsys, "target", p)
		}},
	{name: "SetAttr of the mode", gap: NoChmod, needsName: true, opens: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			return pfs.SetAttr(ctx, fsys, p, pfs.AttrMode, pfs.Attrs{Mode: 0o600})
		}},
	{name: "SetAttr of the time", gap: NoChtime, needsName: true, opens: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			return pfs.SetAttr(ctx, fsys, p, pfs.AttrModTime, pfs.Attrs{ModTime: time.Unix(1e9, 0)})
		}},
	{name: "OpenHandle", gap: NoHandle, needsName: true, needsFile: true, opens: true, call: callHandle(pfs.OpenRead)},
	{name: "OpenHandle with OpenCreate", gap: NoHandle | NoAppend, needsFile: true, makesName: true, opens: true, call: callHandle(createAppend)},
	{name: "SetXattr", gap: NoXattr, needsName: true, opens: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			return pfs.XattrsOf(fsys).SetXattr(ctx, p, "user.a", []byte("x"), 0)
		}},
	{name: "ListXattr", gap: NoXattr, needsName: true, opens: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			_, err := pfs.XattrsOf(fsys).ListXattr(ctx, p)
			return err
		}},
	{name: "HardLink from", gap: NoHardLink, needsName: true, needsFile: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			return pfs.HardLink(ctx, fsys, p, otherFree)
		}},
	{name: "HardLink to", gap: NoHardLink, makesName: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			return pfs.HardLink(ctx, fsys, otherFile, p)
		}},
	{name: "Mknod", gap: NoMknod, makesName: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			return pfs.Mknod(ctx, fsys, p, fs.ModeNamedPipe|0o600, 0)
		}},
	{name: "Concat to", gap: NoConcat, needsName: true, needsFile: true, opens: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			return pfs.Concat(ctx, fsys, p, []pfs.Path{otherFile})
		}},
	{name: "Concat from", gap: NoConcat, needsName: true, needsFile: true, opens: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			return pfs.Concat(ctx, fsys, otherFile, []pfs.Path{p})
		}},
	{name: "Capabilities", gap: NoCapabilities, anywhere: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			_, err := pfs.CapabilitiesOf(ctx, fsys, p)
			return err
		}},
	{name: "RenameExclusive from", gap: NoExclusiveRename, needsName: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			return pfs.RenameExclusive(ctx, fsys, p, otherFree)
		}},
	{name: "RenameExclusive to", gap: NoExclusiveRename, makesName: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			return pfs.RenameExclusive(ctx, fsys, otherFile, p)
		}},
	{name: "RemoveTree", needsName: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			return pfs.RemoveTree(ctx, fsys, p)
		}},
	{name: "SpaceOf", gap: NoSpaceReport, anywhere: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			_, err := pfs.SpaceOf(ctx, fsys, p)
			return err
		}},
	{name: "UsageOf", needsName: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			_, err := pfs.UsageOf(ctx, fsys, p)
			return err
		}},
	{name: "SetQuota", gap: NoQuota, needsName: true, opens: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			return pfs.SetQuota(ctx, fsys, p, 0, 0)
		}},
	{name: "CopyInside from", gap: NoCopy, needsName: true, needsFile: true, opens: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			_, err := pfs.CopyInside(ctx, fsys, p, otherFree, pfs.CopyOptions{}, nil)
			return err
		}},
	{name: "CopyInside to", gap: NoCopy, needsFile: true, makesName: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			_, err := pfs.CopyInside(ctx, fsys, otherFile, p, pfs.CopyOptions{}, nil)
			return err
		}},
	{name: "Digest", gap: NoDigester, needsName: true, needsFile: true, opens: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			_, err := digestOf(ctx, fsys, p, digest.XXH3)
			return err
		}},
	{name: "WriteBatch of a file", needsFile: true, makesName: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			return pfs.WriteBatch(ctx, fsys, []pfs.BatchEntry{{Path: p, Data: []byte("batch")}})[0]
		}},
	{name: "WriteBatch of a directory", makesName: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			return pfs.WriteBatch(ctx, fsys, []pfs.BatchEntry{{Path: p, Mode: fs.ModeDir | 0o755}})[0]
		}},
	{name: "ReadBatch", needsName: true, needsFile: true, opens: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			files := []pfs.BatchFile{{Path: p}}
			err := pfs.ReadBatch(ctx, fsys, files)[0]
			if errors.Is(err, pfs.Conflict) && files[0].Info.Size > 0 {
				return nil // it exists, with another length
			}
			return err
		}},
	{name: "LocateBlocks", gap: NoBlockLocations, needsName: true, needsFile: true, opens: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			_, err := pfs.LocateBlocks(ctx, fsys, p, 0, 1)
			return err
		}},
	{name: "Sweep", gap: NoSweep, opens: true,
		call: func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
			_, _, err := pfs.Sweep(ctx, fsys, p, time.Hour)
			return err
		}},
}

// callHandle returns a call of OpenHandle with these flags.
func callHandle(flags pfs.OpenFlags) func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
	return func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		h, err := pfs.OpenHandle(ctx, fsys, p, flags, 0o600)
		if err == nil {
			err = h.Close(context.WithoutCancel(ctx))
		}
		return err
	}
}

// digestOf asks the store for a digest.
func digestOf(ctx context.Context, fsys pfs.FileSystem, name pfs.Path, algorithm string) (string, error) {
	c, ok := fsys.(pfs.Digester)
	if !ok {
		return "", pfs.E("pfstest.digestOf", name, pfs.Unsupported, nil)
	}
	return c.Digest(ctx, name, algorithm, nil)
}

// each calls check for the operations that which selects, without those that the store lacks. Each
// gets a file system of its own, with a file at otherFile.
func (e *env) each(which func(operation) bool, check func(e *env, op operation)) {
	for _, op := range operations {
		if e.lacks(op.gap) || !which(op) {
			continue
		}
		e.Run(op.name, func(t *testing.T) {
			e := newEnv(t, e.opts)
			WriteFile(e, e.fs, otherFile, []byte("other"))
			check(e, op)
		})
	}
}
