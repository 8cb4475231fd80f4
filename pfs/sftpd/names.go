package sftpd

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/linkfs"
)

// pathArg reads a path.
func (x *session) pathArg(p *parser) (pfs.Path, error) {
	raw := p.string()
	if p.bad {
		return "", nil
	}
	return x.u.resolve(raw)
}

// two reads two paths.
func (x *session) two(p *parser) (a, b pfs.Path, err error) {
	a, err = x.pathArg(p)
	b, errB := x.pathArg(p)
	return a, b, errors.Join(err, errB)
}

// change carries out a change, unless the packet is malformed or err is not nil.
func (x *session) change(ctx context.Context, p *parser, err error, method string, do func(ctx context.Context, fsys pfs.FileSystem) error, fields ...any) error {
	if p.bad || err != nil {
		return err
	}
	return x.u.Change(ctx, method, func(ctx context.Context) error { return do(ctx, x.u.FS()) }, fields...)
}

func (x *session) stat(ctx context.Context, p *parser, follow bool) error {
	name, err := x.pathArg(p)
	if p.bad || err != nil {
		return err
	}
	var info pfs.Info
	err = x.u.Do(ctx, "stat", func(ctx context.Context) error {
		info, err = x.u.info(ctx, x.s.uploads, name, follow)
		return err
	})
	if err == nil {
		x.reply = appendInfo(x.reply, info)
	}
	return err
}

// info describes name: the user's upload of it, if there is one, else the existing entry.
func (u *user) info(ctx context.Context, uploads *uploads, name pfs.Path, follow bool) (pfs.Info, error) {
	if up := uploads.of(u, name); up != nil {
		return up.info(), nil
	}
	look := u.FS().Stat
	if follow {
		look = func(ctx context.Context, name pfs.Path) (pfs.Info, error) { return linkfs.Stat(ctx, u.FS(), name) }
	}
	info, err := look(ctx, name)
	if err != nil && !errors.Is(err, pfs.NotExist) || err == nil && !info.Mode.IsRegular() {
		return info, err
	}
	if record, found := findRecord(ctx, u, name, info); found {
		return record.info(name, info), nil
	}
	return info, err
}

func (x *session) setStat(ctx context.Context, p *parser, more pfs.AttrMask) error {
	name, err := x.pathArg(p)
	a := p.attributes()
	if err == nil && !p.bad && a.flags&attrSize != 0 {
		if own := x.uploadOf(name); own != nil && a.size != own.up.length() {
			err = own.publishEarly(ctx)
		}
	}
	if up := x.s.uploads.of(x.u, name); up != nil && err == nil && !p.bad {
		return x.setUpload(ctx, up, a)
	}
	return x.change(ctx, p, err, "setattr", func(ctx context.Context, fsys pfs.FileSystem) error {
		return setAttrs(a, more, func(mask pfs.AttrMask, attrs pfs.Attrs) error { return pfs.SetAttr(ctx, fsys, name, mask, attrs) })
	}, append([]any{"path", name}, a.fields()...)...)
}

// setAttrs sets attributes by set. A store that has no time of access gets the other attributes.
func setAttrs(a attributes, more pfs.AttrMask, set func(pfs.AttrMask, pfs.Attrs) error) error {
	mask, attrs := a.mask()
	if mask == 0 {
		return nil
	}
	err := set(mask|more, attrs)
	if errors.Is(err, pfs.Unsupported) && mask&pfs.AttrAccessTime != 0 {
		err = set(mask&^pfs.AttrAccessTime|more, attrs)
	}
	return err
}

// fields are those of the audit line.
func (a attributes) fields() (fields []any) {
	if a.flags&attrSize != 0 {
		fields = append(fields, "size", a.size)
	}
	if a.flags&attrOwner != 0 {
		fields = append(fields, "uid", a.uid, "gid", a.gid)
	}
	if a.flags&attrMode != 0 {
		fields = append(fields, "mode", fmt.Sprintf("%04o", a.mode.Perm()))
	}
	if a.flags&attrTimes != 0 {
		fields = append(fields, "time", a.time)
	}
	return fields
}

func (x *session) remove(ctx context.Context, p *parser, isDir bool) error {
	name, err := x.pathArg(p)
	if err == nil && !p.bad {
		err = x.publishBelow(ctx, name)
	}
	return x.change(ctx, p, err, "remove", func(ctx context.Context, fsys pfs.FileSystem) error {
		info, err := fsys.Stat(ctx, name)
		switch {
		case err == nil && info.IsDir() && !isDir:
			return pfs.E("sftpd.remove", name, pfs.IsDir, nil)
		case err == nil && !info.IsDir() && isDir:
			return pfs.E("sftpd.remove", name, pfs.NotDir, nil)
		case errors.Is(err, pfs.NotExist) && !isDir && discardRecord(ctx, x.u, name):
			return nil // an interrupted upload is all that the user saw
		case err != nil:
			return err
		}
		return fsys.Remove(ctx, name)
	}, "path", name)
}

func (x *session) mkdir(ctx context.Context, p *parser) error {
	name, err := x.pathArg(p)
	a := p.attributes()
	mode := fs.FileMode(0o755)
	if a.flags&attrMode != 0 {
		mode = a.mode.Perm() &^ 0o022 // sftp and sshfs ask for 777, and leave the umask to the server
	}
	return x.change(ctx, p, err, "mkdir", func(ctx context.Context, fsys pfs.FileSystem) error {
		return gateway.MakeDir(ctx, fsys, name, mode)
	}, "path", name)
}

// rename renames without or with replacing, or makes a hard link.
func (x *session) rename(ctx context.Context, p *parser, how string) error {
	from, to, err := x.two(p)
	if err == nil && !p.bad {
		err = errors.Join(x.publishBelow(ctx, from), x.publishBelow(ctx, to))
	}
	method := "rename"
	if how == "link" {
		method = how
	}
	return x.change(ctx, p, err, method, func(ctx context.Context, fsys pfs.FileSystem) error {
		switch how {
		case "link":
			return pfs.HardLink(ctx, fsys, from, to)
		case "replace":
			return fsys.Rename(ctx, from, to)
		}
		return gateway.RenameNew(ctx, fsys, from, to)
	}, "path", from, "to", to)
}

// symlink makes a link. OpenSSH has the two paths in another order than the protocol, and clients follow it.
func (x *session) symlink(ctx context.Context, p *parser) error {
	target := p.string()
	name, err := x.pathArg(p)
	return x.change(ctx, p, err, "symlink", func(ctx context.Context, fsys pfs.FileSystem) error {
		return pfs.MakeLink(ctx, fsys, target, name)
	}, "path", name, "target", target)
}

func (x *session) readLink(ctx context.Context, p *parser) error {
	name, err := x.pathArg(p)
	if p.bad || err != nil {
		return err
	}
	return x.u.Do(ctx, "readlink", func(ctx context.Context) error {
		info, err := x.u.FS().Stat(ctx, name)
		if err == nil && !info.IsLink() {
			err = pfs.Errorf("sftpd.readLink", name, pfs.Invalid, "not a symbolic link")
		}
		if err == nil {
			x.oneName(info.Target)
		}
		return err
	})
}

func (x *session) realPath(p *parser) error {
	return x.namePath(p, p.string())
}

// expandPath is realPath for a path that may begin with "~", the user's home. Others' homes have no short form.
func (x *session) expandPath(p *parser) error {
	name := p.string()
	if rest, ok := strings.CutPrefix(name, "~"); ok && (rest == "" || rest[0] == '/') {
		name = "." + rest
	}
	return x.namePath(p, name)
}

// namePath answers with the absolute path of one that a client wrote, which may be below an alias.
func (x *session) namePath(p *parser, name string) error {
	full, err := pfs.ParsePath(absolute(x.u.home, name))
	if err == nil && !p.bad {
		x.oneName(string(full))
	}
	return err
}

// oneName appends the answer that is a single name.
func (x *session) oneName(name string) {
	x.reply = binary.BigEndian.AppendUint32(x.reply, 1)
	x.reply = appendString(appendString(x.reply, name), name)
	x.reply = binary.BigEndian.AppendUint32(x.reply, 0)
}

// statVFS answers with the size of the store, or with the rest of a quota.
func (x *session) statVFS(ctx context.Context, p *parser, open bool) error {
	var name pfs.Path
	var err error
	if open {
		f, e := x.file(ctx, p)
		if err = e; f != nil {
			name = f.name
		}
	} else {
		name, err = x.pathArg(p)
	}
	if p.bad || err != nil {
		return err
	}
	var space pfs.Space
	err = x.u.Do(ctx, "space", func(ctx context.Context) error {
		space, err = pfs.SpaceOf(ctx, x.u.FS(), name)
		return err
	})
	if err != nil {
		return err
	}
	const block = 4096
	free := uint64(space.Free) / block
	for _, n := range []uint64{
		block, block, uint64(space.Total) / block, free, free,
		math.MaxInt32, math.MaxInt32, math.MaxInt32, // files: stores do not count them
		0, 2 /* no setuid */, pfs.MaxName,
	} {
		x.reply = binary.BigEndian.AppendUint64(x.reply, n)
	}
	return nil
}

// longName describes an entry as ls -l does, which some clients show and others take apart.
func longName(info pfs.Info, now time.Time) string {
	when := info.ModTime.Format("Jan _2 15:04")
	if age := now.Sub(info.ModTime); age > 180*24*time.Hour || age < -time.Hour {
		when = info.ModTime.Format("Jan _2  2006")
	}
	owner, group := info.Owner, info.Group
	if owner == "" {
		owner = fmt.Sprint(info.UID)
	}
	if group == "" {
		group = fmt.Sprint(info.GID)
	}
	return fmt.Sprintf("%s %4d %-8s %-8s %8d %s %s", modeString(info.Mode), max(info.Links, 1), owner, group, info.Size, when, info.Name)
}

// modeString is the mode as ls shows it, which differs from Go's form.
func modeString(mode fs.FileMode) string {
	kind := "-"
	switch {
	case mode.IsDir():
		kind = "d"
	case mode&fs.ModeSymlink != 0:
		kind = "l"
	case mode&fs.ModeNamedPipe != 0:
		kind = "p"
	case mode&fs.ModeSocket != 0:
		kind = "s"
	case mode&fs.ModeCharDevice != 0:
		kind = "c"
	case mode&fs.ModeDevice != 0:
		kind = "b"
	}
	return kind + mode.Perm().String()[1:]
}
