package sftpd

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"strconv"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/linkfs"
)

// file is an open file: one of f, h, up, again and synced is set, or none as long as it is undecided.
type file struct {
	u     *user
	name  pfs.Path
	f     pfs.File   // open for reading
	h     pfs.Handle // changed in place
	up    *upload    // published by close
	again *again     // left to the close of the first open

	synced uint64 // ID of a published file that the next request opens in place; most clients close it instead

	undecided func(ctx context.Context, off int64) error // sets h or up for a first write at off
	old       int64                                      // of an upload in place of a file that was not cut: its size; else 0

	refused   error // of the write at refusedAt, with which an upload could not go on in place: its bytes are missing
	refusedAt int64
}

// newHandle keeps an open file or directory, and appends its name to the answer.
func (x *session) newHandle(open func() (handle, error)) error {
	if len(x.handles) >= maxHandles {
		return pfs.Errorf("sftpd.open", "", pfs.Limit, "%d files are open in this session: close some", maxHandles)
	}
	user := x.u.User().Name
	if !x.s.handles.take(user, 1) {
		return pfs.Errorf("sftpd.open", "", pfs.Limit, "%d files of this user are open: close some", maxUserHandles)
	}
	h, err := open()
	if err != nil {
		x.s.handles.leave(user, 1)
		return err
	}
	x.next++
	id := strconv.FormatUint(x.next, 36)
	x.handles[id] = h
	x.reply = appendString(x.reply, id)
	return nil
}

func (x *session) close(ctx context.Context, p *parser) error {
	id := p.string()
	h, ok := x.handles[id]
	if !ok {
		return pfs.Errorf("sftpd.close", "", pfs.Closed, "no such open file")
	}
	delete(x.handles, id)
	x.s.handles.leave(x.u.User().Name, 1)
	return h.close(ctx)
}

func (x *session) open(ctx context.Context, p *parser) error {
	name, err := x.pathArg(p)
	flags := p.uint32()
	a := p.attributes()
	if p.bad || err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if a.flags&attrMode != 0 {
		mode = a.mode.Perm() &^ 0o022
	}
	return x.newHandle(func() (handle, error) { return x.openFile(ctx, name, flags, mode) })
}

// openFile opens a file for a client. A file that is created or truncated is an upload. An existing file that is not
// truncated is changed in place, and so is a file that is opened for reading and writing, where the store can.
func (s *Server) openFile(ctx context.Context, u *user, name pfs.Path, flags uint32, mode fs.FileMode) (*file, error) {
	const op = "sftpd.open"
	o := &file{u: u, name: name}
	if flags&(flagRead|flagWrite) == 0 || flags&flagWrite == 0 && flags&^flagRead != 0 {
		return nil, pfs.Errorf(op, name, pfs.Invalid, "open flags %#x", flags)
	}
	if flags&flagWrite == 0 {
		err := u.Do(ctx, "open", func(ctx context.Context) (err error) {
			o.f, err = u.FS().Open(ctx, name)
			return err
		})
		return o, err
	}
	var old pfs.Info
	var can pfs.Capabilities
	err := u.Do(ctx, "stat", func(ctx context.Context) (err error) {
		old, err = linkfs.Stat(ctx, u.FS(), name)
		if err == nil || errors.Is(err, pfs.NotExist) {
			can = capabilities(ctx, u, name)
		}
		return err
	})
	exists := err == nil
	switch {
	case errors.Is(err, pfs.NotExist) && flags&flagCreate == 0 && flags&flagTrunc != 0:
		return nil, err
	case err != nil && !errors.Is(err, pfs.NotExist):
		return nil, err
	case exists && flags&(flagExcl|flagCreate) == flagExcl|flagCreate:
		return nil, pfs.E(op, name, pfs.Exist, nil)
	case exists && old.IsDir():
		return nil, pfs.E(op, name, pfs.IsDir, nil)
	}
	if exists {
		mode = old.Mode.Perm()
	}
	both := flags&flagRead != 0 && can.Has(pfs.CanOpenHandle|pfs.CanWriteRandom)
	begin := func(ctx context.Context) (err error) {
		o.up, err = s.uploads.begin(ctx, u, name, old, can, mode, flags&flagExcl != 0)
		return err
	}
	interrupted := false
	if flags&flagTrunc == 0 && !both {
		err := u.Do(ctx, "stat", func(ctx context.Context) error {
			_, interrupted = findRecord(ctx, u, name, old)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	switch {
	case both || exists && !interrupted && flags&(flagTrunc|flagAppend) == flagAppend:
		return o, o.openInPlace(ctx, flags, mode)
	case !exists && flags&flagCreate == 0 && !interrupted:
		return nil, pfs.E(op, name, pfs.NotExist, nil)
	case flags&flagTrunc != 0 || !exists && !interrupted:
		return o, begin(ctx)
	}
	// A client that wants to continue an upload, or to change the file, or to replace it and cut it at the end, as scp does:
	// the offset of the first write tells, and the flag to append, which OpenSSH sends to continue.
	o.undecided = func(ctx context.Context, off int64) (err error) {
		if off == 0 && flags&flagAppend == 0 {
			o.old = old.Size
			return begin(ctx)
		}
		if interrupted {
			o.up, err = s.uploads.resume(ctx, u, name, old)
		}
		if err == nil && o.up == nil {
			err = o.openInPlace(ctx, flags, mode)
		}
		return err
	}
	return o, nil
}

// decide chooses between an upload and changes in place.
func (o *file) decide(ctx context.Context, off int64) error {
	if o.undecided == nil || o.up != nil || o.h != nil {
		return nil
	}
	return o.undecided(ctx, off)
}

// openInPlace opens the file for changes that everybody sees at once.
func (o *file) openInPlace(ctx context.Context, flags uint32, mode fs.FileMode) error {
	how := pfs.OpenWrite
	for _, f := range []struct {
		flag uint32
		open pfs.OpenFlags
	}{{flagRead, pfs.OpenRead}, {flagAppend, pfs.OpenAppend}, {flagCreate, pfs.OpenCreate}, {flagTrunc, pfs.OpenTruncate}, {flagExcl, pfs.OpenExclusive}} {
		if flags&f.flag != 0 {
			how |= f.open
		}
	}
	if how&pfs.OpenCreate == 0 {
		how &^= pfs.OpenExclusive
	}
	return o.u.Change(ctx, "open", func(ctx context.Context) (err error) {
		o.h, err = pfs.OpenHandle(ctx, o.u.FS(), o.name, how, mode)
		return err
	}, "path", o.name)
}

// leastRead is how many bytes are read where the file ended when it was opened.
const leastRead = 4 << 10

func (x *session) read(ctx context.Context, p *parser) error {
	o, err := x.file(ctx, p)
	off, n := p.offset(), int(min(p.uint32(), maxData))
	if p.bad || err != nil {
		return err
	}
	if o.f != nil { // clients ask for as much as a packet takes
		n = int(min(int64(n), max(o.f.Info().Size-off, leastRead)))
	}
	at := len(x.reply) + 4
	x.reply = append(x.reply, make([]byte, 4+n)...)
	done, err := o.readAt(ctx, x.reply[at:], off)
	if done == 0 && n > 0 && err == nil {
		err = io.EOF
	}
	if done > 0 || err == nil {
		binary.BigEndian.PutUint32(x.reply[at-4:], uint32(done))
		x.reply = x.reply[:at+done]
		return nil // the next read returns the error
	}
	return err
}

func (o *file) readAt(ctx context.Context, p []byte, off int64) (int, error) {
	switch {
	case o.f != nil:
		return gateway.ReadAt(ctx, o.u, o.f, p, off)
	case o.h != nil:
		return gateway.ReadAt(ctx, o.u, o.h, p, off)
	case o.up != nil:
		return o.up.readAt(ctx, p, off)
	}
	return 0, pfs.Errorf("sftpd.read", o.name, pfs.Permission, "the file is not open for reading")
}

func (x *session) write(ctx context.Context, p *parser) error {
	o, err := x.file(ctx, p)
	off, b := p.offset(), p.bytes()
	if p.bad || err != nil {
		return err
	}
	return o.writeAt(ctx, b, off)
}

// writeAt writes p at off. After an error it takes only the write that failed, as an upload does.
func (o *file) writeAt(ctx context.Context, p []byte, off int64) error {
	if o.refused != nil && off != o.refusedAt {
		return o.refused
	}
	if err := o.decide(ctx, off); err != nil {
		return err
	}
	o.refused = nil
	if o.up != nil {
		if err := o.up.write(ctx, p, off); err != errRandom {
			return err
		}
		if err := o.toInPlace(ctx); err != nil {
			o.refused, o.refusedAt = err, off
			return err
		}
	}
	if o.h == nil {
		return pfs.Errorf("sftpd.write", o.name, pfs.Permission, "the file is not open for writing")
	}
	_, err := gateway.WriteAt(ctx, o.u, o.h, p, off)
	return err
}

// toInPlace publishes the upload, and continues in the published file.
func (o *file) toInPlace(ctx context.Context) error {
	if !o.up.can.Has(pfs.CanOpenHandle | pfs.CanWriteRandom) {
		return pfs.Errorf("sftpd.write", o.name, pfs.Unsupported, "the store takes new files in order from the start only")
	}
	up := o.up
	if err := cmp.Or(o.refused, up.failed); err != nil {
		return err
	}
	if o.old == 0 {
		if err := o.publishEarly(ctx); err != nil {
			return err
		}
		return o.openSynced(ctx)
	}
	if err := up.fill(ctx); err != nil {
		return err
	}
	if err := o.openInPlace(ctx, flagRead|flagWrite, 0); err != nil {
		return err
	}
	if err := o.copyInPlace(ctx); err != nil {
		o.closeNow()
		return err
	}
	up.discard()
	o.up = nil
	return nil
}

// copyInPlace writes the bytes of the upload to the file that is open in place.
func (o *file) copyInPlace(ctx context.Context) error {
	buf := make([]byte, gateway.Step)
	for off := int64(0); off < o.up.length(); {
		n, err := o.up.readAt(ctx, buf, off)
		if n == 0 {
			return err
		}
		if _, err := gateway.WriteAt(ctx, o.u, o.h, buf[:n], off); err != nil {
			return err
		}
		off += int64(n)
	}
	return nil
}

// keepRest completes an upload in place of a file that is longer and was not cut: that file keeps its other bytes.
func (o *file) keepRest(ctx context.Context) error {
	if err := o.up.fill(ctx); err != nil {
		return err
	}
	if o.up.length() >= o.old {
		return nil
	}
	if o.up.can.Has(pfs.CanOpenHandle | pfs.CanWriteRandom) {
		return o.toInPlace(ctx)
	}
	var f pfs.File
	err := o.u.Do(ctx, "open", func(ctx context.Context) (err error) {
		f, err = o.u.FS().Open(ctx, o.name)
		return err
	})
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, gateway.Step)
	for o.up.length() < f.Info().Size {
		n, err := gateway.ReadAt(ctx, o.u, f, buf, o.up.length())
		if n == 0 {
			return err
		}
		if err := o.up.append(ctx, buf[:n]); err != nil {
			return err
		}
	}
	return nil
}

func (x *session) fstat(ctx context.Context, p *parser) error {
	o, err := x.file(ctx, p)
	if err != nil {
		return err
	}
	var info pfs.Info
	switch {
	case o.f != nil:
		info = o.f.Info()
	case o.up != nil:
		info = o.up.info()
		info.Size = max(info.Size, o.old)
	case o.h == nil:
		err = x.u.Do(ctx, "stat", func(ctx context.Context) (err error) {
			info, err = o.u.info(ctx, x.s.uploads, o.name, true)
			return err
		})
	default:
		err = o.u.Do(ctx, "stat", func(ctx context.Context) (err error) {
			info, err = o.h.Stat(ctx)
			return err
		})
	}
	if err == nil {
		x.reply = appendInfo(x.reply, info)
	}
	return err
}

func (x *session) setFileStat(ctx context.Context, p *parser) error {
	o, err := x.file(ctx, p)
	a := p.attributes()
	if p.bad || err != nil {
		return err
	}
	if o.up != nil {
		if err := o.up.fill(ctx); err != nil {
			return err
		}
		if a.flags&attrSize == 0 || a.size == o.up.length() {
			if a.flags&attrSize != 0 {
				o.old = 0 // it is cut here
			}
			return x.setUpload(ctx, o.up, a)
		}
		if err := o.toInPlace(ctx); err != nil {
			return err
		}
	}
	fields := append([]any{"path", o.name}, a.fields()...)
	return o.u.Change(ctx, "setattr", func(ctx context.Context) error {
		return setAttrs(a, 0, func(mask pfs.AttrMask, attrs pfs.Attrs) error {
			if o.h != nil {
				return o.h.SetAttr(ctx, mask, attrs)
			}
			return pfs.SetAttr(ctx, o.u.FS(), o.name, mask, attrs)
		})
	}, fields...)
}

// setUpload sets the attributes with which an upload is published.
func (x *session) setUpload(_ context.Context, up *upload, a attributes) error {
	if a.flags&attrOwner != 0 { // programs that copy attributes expect this refusal
		return pfs.Errorf("sftpd.setstat", up.name, pfs.Permission, "an upload has no owner yet: close the file first")
	}
	if a.flags&attrSize != 0 && a.size != up.length() {
		return pfs.Errorf("sftpd.setstat", up.name, pfs.Unsupported, "the size of an upload is that of its bytes: close the file first")
	}
	up.set(a)
	return nil
}

// sync makes the written bytes durable. An upload is published: until then no client would find its bytes after a crash, and
// clients such as sshfs ignore the errors of CLOSE.
func (x *session) sync(ctx context.Context, p *parser) error {
	o, err := x.file(ctx, p)
	if err != nil {
		return err
	}
	if o.refused != nil {
		return o.refused
	}
	if o.up != nil {
		if err := o.publishEarly(ctx); err != nil {
			return err
		}
	}
	if o.h == nil {
		return nil
	}
	return o.u.Do(ctx, "sync", o.h.Sync)
}

func (o *file) close(ctx context.Context) error {
	if o.f != nil {
		return o.f.Close()
	}
	if o.up != nil {
		if err := o.publish(ctx); err != nil {
			o.abandon()
			o.up = nil
			return err
		}
	}
	if o.h == nil {
		return o.refused
	}
	defer o.closeNow()
	return cmp.Or(o.refused, o.u.Do(ctx, "close", o.h.Close))
}

// publish publishes the upload, or completes it in place.
func (o *file) publish(ctx context.Context) error {
	if o.refused != nil {
		return o.refused
	}
	if o.old > 0 {
		if err := o.keepRest(ctx); err != nil || o.up == nil {
			return err
		}
	}
	if err := o.up.publish(ctx); err != nil {
		return err
	}
	o.up, o.undecided = nil, nil
	return nil
}

func (o *file) abandon() {
	switch {
	case o.f != nil:
		_ = o.f.Close()
	case o.h != nil:
		o.closeNow()
	case o.up != nil:
		o.up.abandon()
	}
}

// closeNow closes the file that is changed in place, also for a user whose requests are refused.
func (o *file) closeNow() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveWithin)
	defer cancel()
	_ = o.h.Close(ctx)
	o.h = nil
}
