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
	do   func(o on) error

	needsName bool // answers NotExist if nothing has the name
	needsFile bool // answers IsDir if a directory has it
	makesName bool // needs the parent: NotExist without, NotDir if it is a file
	opens     bool // answers Symlink if a link has it
	anywhere  bool // may ignore the path
}

// on is the kind of entry on which an operation works.
type on struct {
	ctx  context.Context
	fs   pfs.FileSystem
	path pfs.Path
}

func (op operation) call(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
	return op.do(on{ctx, fsys, p})
}

var operations = []operation{
	{name: "Open", needsName: true, needsFile: true, opens: true,
		do: func(o on) error {
			f, err := o.fs.Open(o.ctx, o.path)
			if err == nil {
				f.Close()
			}
			return err
		}},
	{name: "Create", needsFile: true, makesName: true,
		do: func(o on) error {
			w, err := o.fs.Create(o.ctx, o.path, pfs.CreateOptions{})
			if err == nil {
				w.Close(o.ctx)
			}
			return err
		}},
	{name: "Stat", needsName: true, do: func(o on) error { return errOf(o.fs.Stat(o.ctx, o.path)) }},
	{name: "List", needsName: true, opens: true, do: func(o on) error { return errOf(o.fs.List(o.ctx, o.path, pfs.ListOptions{})) }},
	{name: "Mkdir", makesName: true, do: func(o on) error { return o.fs.Mkdir(o.ctx, o.path, 0o755) }},
	{name: "Remove", needsName: true, do: func(o on) error { return o.fs.Remove(o.ctx, o.path) }},
	{name: "Rename from", needsName: true, do: func(o on) error { return o.fs.Rename(o.ctx, o.path, otherFree) }},
	{name: "Rename to", makesName: true, do: func(o on) error { return o.fs.Rename(o.ctx, otherFile, o.path) }},
	{name: "MakeLink", gap: NoSymlink, makesName: true, do: func(o on) error { return pfs.MakeLink(o.ctx, o.fs, "target", o.path) }},
	{name: "SetAttr of the mode", gap: NoChmod, needsName: true, opens: true,
		do: func(o on) error { return pfs.SetAttr(o.ctx, o.fs, o.path, pfs.AttrMode, pfs.Attrs{Mode: 0o600}) }},
	{name: "SetAttr of the time", gap: NoChtime, needsName: true, opens: true,
		do: func(o on) error {
			return pfs.SetAttr(o.ctx, o.fs, o.path, pfs.AttrModTime, pfs.Attrs{ModTime: time.Unix(1e9, 0)})
		}},
	{name: "OpenHandle", gap: NoHandle, needsName: true, needsFile: true, opens: true, do: openAndClose(pfs.OpenRead)},
	{name: "OpenHandle with OpenCreate", gap: NoHandle | NoAppend, needsFile: true, makesName: true, opens: true, do: openAndClose(createAppend)},
	{name: "SetXattr", gap: NoXattr, needsName: true, opens: true,
		do: func(o on) error { return pfs.XattrsOf(o.fs).SetXattr(o.ctx, o.path, "user.a", []byte("x"), 0) }},
	{name: "ListXattr", gap: NoXattr, needsName: true, opens: true,
		do: func(o on) error { return errOf(pfs.XattrsOf(o.fs).ListXattr(o.ctx, o.path)) }},
	{name: "HardLink from", gap: NoHardLink, needsName: true, needsFile: true,
		do: func(o on) error { return pfs.HardLink(o.ctx, o.fs, o.path, otherFree) }},
	{name: "HardLink to", gap: NoHardLink, makesName: true,
		do: func(o on) error { return pfs.HardLink(o.ctx, o.fs, otherFile, o.path) }},
	{name: "Mknod", gap: NoMknod, makesName: true,
		do: func(o on) error { return pfs.Mknod(o.ctx, o.fs, o.path, fs.ModeNamedPipe|0o600, 0) }},
	{name: "Concat to", gap: NoConcat, needsName: true, needsFile: true, opens: true,
		do: func(o on) error { return pfs.Concat(o.ctx, o.fs, o.path, []pfs.Path{otherFile}) }},
	{name: "Concat from", gap: NoConcat, needsName: true, needsFile: true, opens: true,
		do: func(o on) error { return pfs.Concat(o.ctx, o.fs, otherFile, []pfs.Path{o.path}) }},
	{name: "Capabilities", gap: NoCapabilities, anywhere: true,
		do: func(o on) error { return errOf(pfs.CapabilitiesOf(o.ctx, o.fs, o.path)) }},
	{name: "RenameExclusive from", gap: NoExclusiveRename, needsName: true,
		do: func(o on) error { return pfs.RenameExclusive(o.ctx, o.fs, o.path, otherFree) }},
	{name: "RenameExclusive to", gap: NoExclusiveRename, makesName: true,
		do: func(o on) error { return pfs.RenameExclusive(o.ctx, o.fs, otherFile, o.path) }},
	{name: "RemoveTree", needsName: true, do: func(o on) error { return pfs.RemoveTree(o.ctx, o.fs, o.path) }},
	{name: "SpaceOf", gap: NoSpaceReport, anywhere: true, do: func(o on) error { return errOf(pfs.SpaceOf(o.ctx, o.fs, o.path)) }},
	{name: "UsageOf", needsName: true, do: func(o on) error { return errOf(pfs.UsageOf(o.ctx, o.fs, o.path)) }},
	{name: "SetQuota", gap: NoQuota, needsName: true, opens: true,
		do: func(o on) error { return pfs.SetQuota(o.ctx, o.fs, o.path, 0, 0) }},
	{name: "CopyInside from", gap: NoCopy, needsName: true, needsFile: true, opens: true,
		do: func(o on) error { return errOf(pfs.CopyInside(o.ctx, o.fs, o.path, otherFree, pfs.CopyOptions{}, nil)) }},
	{name: "CopyInside to", gap: NoCopy, needsFile: true, makesName: true,
		do: func(o on) error { return errOf(pfs.CopyInside(o.ctx, o.fs, otherFile, o.path, pfs.CopyOptions{}, nil)) }},
	{name: "Digest", gap: NoDigester, needsName: true, needsFile: true, opens: true,
		do: func(o on) error { return errOf(digestOf(o.ctx, o.fs, o.path, digest.XXH3)) }},
	{name: "WriteBatch of a file", needsFile: true, makesName: true,
		do: func(o on) error {
			return pfs.WriteBatch(o.ctx, o.fs, []pfs.BatchEntry{{Path: o.path, Data: []byte("batch")}})[0]
		}},
	{name: "WriteBatch of a directory", makesName: true,
		do: func(o on) error {
			return pfs.WriteBatch(o.ctx, o.fs, []pfs.BatchEntry{{Path: o.path, Mode: fs.ModeDir | 0o755}})[0]
		}},
	{name: "ReadBatch", needsName: true, needsFile: true, opens: true,
		do: func(o on) error {
			files := []pfs.BatchFile{{Path: o.path}}
			err := pfs.ReadBatch(o.ctx, o.fs, files)[0]
			if errors.Is(err, pfs.Conflict) && files[0].Info.Size > 0 {
				return nil // it exists, with another length
			}
			return err
		}},
	{name: "ReadRanges", needsName: true, needsFile: true, opens: true,
		do: func(o on) error { return pfs.ReadRanges(o.ctx, o.fs, []pfs.Range{{Path: o.path}})[0] }},
	{name: "LocateBlocks", gap: NoBlockLocations, needsName: true, needsFile: true, opens: true,
		do: func(o on) error { return errOf(pfs.LocateBlocks(o.ctx, o.fs, o.path, 0, 1)) }},
	{name: "Sweep", gap: NoSweep, opens: true,
		do: func(o on) error {
			_, _, err := pfs.Sweep(o.ctx, o.fs, o.path, time.Hour)
			return err
		}},
}

// openAndClose returns an operation that calls OpenHandle with these flags.
func openAndClose(flags pfs.OpenFlags) func(o on) error {
	return func(o on) error {
		h, err := pfs.OpenHandle(o.ctx, o.fs, o.path, flags, 0o600)
		if err == nil {
			err = h.Close(context.WithoutCancel(o.ctx))
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

// each calls check for the operations that which selects, except those that the store lacks. Each
// gets a new file system, with a file at otherFile.
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
