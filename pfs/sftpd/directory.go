package sftpd

import (
	"context"
	"encoding/binary"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	// pageEntries is the number of entries of a directory that are in memory at a time.
	pageEntries = 512
	// maxNames bounds an answer with names: some clients take packets of 32 KiB only.
	maxNames = 30 << 10
)

// directory is an open directory. It holds one page of its entries.
type directory struct {
	u       *user
	name    pfs.Path
	page    []pfs.Info
	token   string
	uploads map[string]*file // those of this session that are not listed yet, by name
}

func (x *session) openDir(ctx context.Context, p *parser) error {
	name, err := x.pathArg(p)
	if p.bad || err != nil {
		return err
	}
	return x.newHandle(func() (handle, error) {
		d := &directory{u: x.u, name: name, uploads: map[string]*file{}}
		for _, h := range x.handles {
			if o, ok := h.(*file); ok && o.up != nil && o.name.Parent() == name {
				d.uploads[o.name.Base()] = o
			}
		}
		if err := d.read(ctx); err != nil {
			return nil, err
		}
		self := pfs.Info{Mode: fs.ModeDir | 0o755, ModTime: time.Now()}
		for _, dots := range []string{"..", "."} {
			self.Name = dots
			d.page = append([]pfs.Info{self}, d.page...)
		}
		return d, nil
	})
}

// read reads the next page.
func (d *directory) read(ctx context.Context) error {
	return d.u.Do(ctx, "list", func(ctx context.Context) error {
		page, err := d.u.FS().List(ctx, d.name, pfs.ListOptions{Token: d.token, Limit: pageEntries})
		d.page, d.token = page.Entries, page.Next
		if err == nil && len(d.uploads) > 0 {
			d.addUploads()
		}
		return err
	})
}

// addUploads shows the uploads of this session in place of the files that they will replace, and the others at the end.
func (d *directory) addUploads() {
	d.page = slices.Clone(d.page)
	for i, e := range d.page {
		if o := d.uploads[e.Name]; o != nil && o.up != nil {
			d.page[i] = o.up.info()
		}
		delete(d.uploads, e.Name)
	}
	if d.token != "" {
		return
	}
	for _, o := range d.uploads {
		if o.up != nil {
			d.page = append(d.page, o.up.info())
		}
	}
}

func (x *session) readDir(ctx context.Context, p *parser) error {
	d, ok := x.handles[string(p.bytes())].(*directory)
	if !ok {
		return pfs.Errorf("sftpd.readDir", "", pfs.Closed, "no such open directory")
	}
	for len(d.page) == 0 {
		if d.token == "" {
			return io.EOF
		}
		if err := d.read(ctx); err != nil {
			return err
		}
	}
	return d.u.Do(ctx, "readdir", func(ctx context.Context) error {
		return pfs.InTurn(ctx, func() error {
			x.reply = d.appendNames(x.reply)
			return nil
		})
	})
}

// appendNames appends the next entries of the page, as many as an answer takes.
func (d *directory) appendNames(b []byte) []byte {
	count := len(b)
	b = append(b, 0, 0, 0, 0)
	n, now := 0, time.Now()
	for n < len(d.page) && len(b) < maxNames {
		info := d.page[n]
		b = appendString(appendString(b, info.Name), longName(info, now))
		b = appendInfo(b, info)
		n++
	}
	d.page = d.page[n:]
	binary.BigEndian.PutUint32(b[count:], uint32(n))
	return b
}

func (d *directory) close(context.Context) error { return nil }
func (d *directory) abandon()                    {}
