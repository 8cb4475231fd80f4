package web

import (
	"archive/zip"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"sync"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/linkfs"
)

const (
	// maxEntries bounds the entries of an archive, whose directory is kept in memory until its end.
	maxEntries = 50_000
	// maxArchives bounds the archives that are being sent, archivesOfUser those of one user.
	maxArchives, archivesOfUser = 12, 3
)

// leftOut is the name of the entry that lists files which are not in an archive.
const leftOut = "_LEFT_OUT.txt"

// archives counts the archives that are being sent.
type archives struct {
	mu   sync.Mutex
	all  int
	each map[string]int
}

// begin counts one more archive of a user, until end is called.
func (a *archives) begin(user string) (end func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all >= maxArchives || a.each[user] >= archivesOfUser {
		return nil, pfs.Errorf("web.archives", "", pfs.Limit, "%d archives of yours are being downloaded, and %d of all users: wait until one has ended", a.each[user], a.all)
	}
	if a.each == nil {
		a.each = map[string]int{}
	}
	a.all++
	a.each[user]++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.all--
		if a.each[user]--; a.each[user] == 0 {
			delete(a.each, user)
		}
	}, nil
}

// zip sends a folder, or the entries of it that the form names, as an archive. The entries are counted before the
// answer begins, which also finds folders that cannot be read. A later error cuts the connection, so that the
// browser reports a failed download and not an archive without some files.
func (x *Web) zip(v *visit, dir pfs.Path) error {
	end, err := x.archives.begin(v.session.User().Name)
	if err != nil {
		return err
	}
	defer end()
	var names []string
	if v.Method == http.MethodPost {
		if names, err = v.names(dir); err != nil {
			return err
		}
	}
	count := &archive{v: v}
	if err := count.add(dir, names); err != nil {
		return err
	}
	heading := "pfs"
	if dir != pfs.Root {
		heading = dir.Base()
	}
	attach(v.w.Header(), heading+".zip", "application/zip")
	a := &archive{v: v, to: newSlowly(v.w)}
	a.out = zip.NewWriter(a.to)
	err = a.add(dir, names)
	if err == nil {
		err = a.close()
	}
	if err != nil {
		x.cfg.Logger.Warn("archive cut off", "path", string(dir), "user", v.session.User().Name, "error", pfs.Detail(err))
		return fmt.Errorf("%w: %w", errCut, err)
	}
	return nil
}

// names returns the entries of dir that the form names.
func (v *visit) names(dir pfs.Path) ([]string, error) {
	names := v.PostForm["name"]
	if len(names) == 0 {
		return nil, pfs.Errorf("web.names", dir, pfs.Invalid, "select one entry or more")
	}
	for _, n := range names {
		if reason := pfs.CheckName(n); reason != "" {
			return nil, pfs.Errorf("web.names", dir, pfs.Invalid, "%s", reason)
		}
	}
	return names, nil
}

// archive writes an archive, or only counts its entries if out is nil.
type archive struct {
	v       *visit
	to      *slowly
	out     *zip.Writer
	entries int
	missing []string // what is left out, with the reason
	buf     []byte
}

// add adds the entries of dir: all, or those of names.
func (a *archive) add(dir pfs.Path, names []string) error {
	if names == nil {
		return a.folder(dir, "")
	}
	for _, n := range names {
		var info pfs.Info
		err := a.v.session.Do(a.v.Context(), "stat", func(ctx context.Context) (err error) {
			info, err = a.v.session.FS().Stat(ctx, dir.Join(n))
			return err
		})
		if err == nil {
			err = a.entry(dir.Join(n), "", info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// folder adds the entries of dir below the name at of the archive.
func (a *archive) folder(dir pfs.Path, at string) error {
	for token := ""; ; {
		var page pfs.Page
		err := a.v.session.Do(a.v.Context(), "list", func(ctx context.Context) (err error) {
			page, err = a.v.session.FS().List(ctx, dir, pfs.ListOptions{Token: token, Limit: rows})
			return err
		})
		if err != nil {
			return err
		}
		for _, n := range page.Unnamed {
			a.leave(at+n, "its name cannot be used")
		}
		for _, e := range page.Entries {
			if err := a.entry(dir.Join(e.Name), at, e); err != nil {
				return err
			}
		}
		if token = page.Next; token == "" {
			return nil
		}
	}
}

// entry adds what name is, below the name at of the archive. A link to a file is that file. A link to a folder is left
// out, because links can lead in circles.
func (a *archive) entry(name pfs.Path, at string, info pfs.Info) error {
	if a.entries++; a.entries > maxEntries {
		return pfs.Errorf("web.zip", name.Parent(), pfs.Limit, "more than %d entries are too many for an archive: use paddlectl cp, or select less", maxEntries)
	}
	to := at + zipName(name.Base())
	if info.IsLink() && a.v.shared {
		a.leave(to, "a link, which could lead out of the folder")
		return nil
	}
	if info.IsLink() {
		err := a.v.session.Do(a.v.Context(), "stat", func(ctx context.Context) (err error) {
			info, err = linkfs.Stat(ctx, a.v.session.FS(), name)
			return err
		})
		if err != nil && !linkfs.Nowhere(err) {
			return err
		}
		if err != nil || info.IsDir() {
			a.leave(to, "a link that leads to no file")
			return nil
		}
	}
	switch {
	case info.IsDir():
		if a.out != nil {
			if _, err := a.out.CreateHeader(&zip.FileHeader{Name: to + "/", Modified: info.ModTime}); err != nil {
				return err
			}
		}
		return a.folder(name, to+"/")
	case !info.IsRegular():
		a.leave(to, "not a file")
		return nil
	case a.out == nil:
		return nil
	}
	return a.file(name, to)
}

// file adds the content of the file name. It is stored as it is: most large files are compressed already.
func (a *archive) file(name pfs.Path, to string) error {
	f, err := a.v.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info := f.Info()
	h := &zip.FileHeader{Name: to, Modified: info.ModTime, Method: zip.Store}
	h.SetMode(info.Mode & fs.ModePerm)
	w, err := a.out.CreateHeader(h)
	if err != nil {
		return err
	}
	if a.buf == nil {
		a.buf = make([]byte, gateway.Step)
	}
	for off := int64(0); off < info.Size; {
		p := a.buf[:min(gateway.Step, info.Size-off)]
		if _, err := a.to.read(a.v, f, p, off); err != nil {
			return err
		}
		if _, err := w.Write(p); err != nil {
			return err
		}
		off += int64(len(p))
	}
	return nil
}

// leave notes a file that is not in the archive.
func (a *archive) leave(name, reason string) {
	if a.out != nil && len(a.missing) < maxEntries {
		a.missing = append(a.missing, shown(name)+": "+reason+"\n")
	}
}

// close ends the archive. If something was left out, the last entry tells what.
func (a *archive) close() error {
	if len(a.missing) > 0 {
		w, err := a.out.Create(leftOut)
		if err != nil {
			return err
		}
		for _, line := range a.missing {
			if _, err := w.Write([]byte(line)); err != nil {
				return err
			}
		}
	}
	return a.out.Close()
}
