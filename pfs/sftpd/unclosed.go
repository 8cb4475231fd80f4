package sftpd

import (
	"context"
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
)

// sshfs closes a file after the program's close has returned, so the next request of the program for this file, or its
// directory, may come first. Such requests find the session's own uploads as if they were published: a second open shares
// the upload, and what changes the name publishes the upload first.

// uploadOf returns the open file of this session that is an upload of name; nil if there is none.
func (x *session) uploadOf(name pfs.Path) *file {
	for _, h := range x.handles {
		if o, ok := h.(*file); ok && o.up != nil && o.name == name {
			return o
		}
	}
	return nil
}

// again is the second open of a file.
type again struct {
	of    *file // whose upload it shares, as long as there is one
	flags uint32
	mode  fs.FileMode
}

// openFile opens a file. The upload of this session to the same name is shared, where its bytes can be read and are all that
// the file will have.
func (x *session) openFile(ctx context.Context, name pfs.Path, flags uint32, mode fs.FileMode) (*file, error) {
	if of := x.uploadOf(name); of != nil && flags&(flagTrunc|flagExcl) == 0 {
		if of.old == 0 && of.up.can.Has(pfs.CanReadStaged) {
			return &file{u: x.u, name: name, again: &again{of, flags, mode}}, nil
		}
		if err := x.publishBelow(ctx, name); err != nil {
			return nil, err
		}
	}
	return x.s.openFile(ctx, x.u, name, flags, mode)
}

// file reads the name of an open file. For one that shares an upload it returns the file with the upload; once that is
// published, it opens the file.
func (x *session) file(ctx context.Context, p *parser) (*file, error) {
	id := string(p.bytes())
	o, ok := x.handles[id].(*file)
	switch {
	case !ok:
		return nil, pfs.Errorf("sftpd.file", "", pfs.Closed, "no such open file")
	case o.again == nil:
		return o, o.openSynced(ctx)
	case o.again.of.up != nil:
		return o.again.of, nil
	}
	now, err := x.s.openFile(ctx, x.u, o.name, o.again.flags, o.again.mode)
	if err != nil {
		return o, err
	}
	x.handles[id] = now
	return now, nil
}

// publishBelow publishes the uploads of this session of name and of what is below it, and opens what is published, because the names
// may change.
func (x *session) publishBelow(ctx context.Context, name pfs.Path) error {
	for _, h := range x.handles {
		o, ok := h.(*file)
		if !ok || !o.name.Within(name) {
			continue
		}
		if o.up != nil {
			if err := o.publishEarly(ctx); err != nil {
				return err
			}
		}
		_ = o.openSynced(ctx) // the next request for the file returns the error
	}
	return nil
}

// publishEarly publishes an upload whose file is still open, such as one that the client has synced. The file is opened in place by
// the next request for it, where the store has an ID by which it is found again. If the store has no random writes,
// it then accepts writes only at the end of the file.
func (o *file) publishEarly(ctx context.Context) error {
	up := o.up
	if err := o.publish(ctx); err != nil || o.h != nil || !up.can.Has(pfs.CanOpenHandle) {
		return err
	}
	if o.synced = up.id; o.synced == 0 {
		return o.openInPlace(ctx, flagRead|flagWrite, 0)
	}
	return nil
}

// openSynced opens a file that publishEarly has published.
func (o *file) openSynced(ctx context.Context) error {
	if o.synced == 0 {
		return nil
	}
	if err := o.openInPlace(ctx, flagRead|flagWrite, 0); err != nil {
		return err
	}
	var info pfs.Info
	err := o.u.Do(ctx, "stat", func(ctx context.Context) (err error) {
		info, err = o.h.Stat(ctx)
		return err
	})
	if err == nil && info.ID != o.synced {
		err = pfs.Errorf("sftpd.open", o.name, pfs.Conflict, "another file has replaced this one since it was published: open the new one")
	}
	if err != nil {
		o.closeNow()
		return err
	}
	o.synced = 0
	return nil
}
