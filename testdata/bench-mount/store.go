//go:build linux

package main

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// The simulated store holds /big; files in /small; names in /list; and /many, with files in
// directories of 1,000.
const (
	bigSize                 = 1 << 30
	smallFiles, smallSize   = 3000, 100 << 10
	listFiles               = 110_000
	manyDirs, manyFilesEach = 1000, 1000
)

var made = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// simulated is the store behind a slow network. It makes up all names and contents.
type simulated struct {
	pfs.FileSystem // for changes, which nobody makes
	net            *testbed.Network
}

func newSimulated() *simulated {
	return &simulated{memfs.New(memfs.Options{}), testbed.SlowNetwork()}
}

// count returns the number of entries of a directory, or -1.
func count(dir pfs.Path) int {
	switch {
	case dir == pfs.Root:
		return 4
	case dir == "/small":
		return smallFiles
	case dir == "/list":
		return listFiles
	case dir == "/many":
		return manyDirs
	case dir.Parent() == "/many":
		return manyFilesEach
	}
	return -1
}

// child returns entry i of a directory.
func child(dir pfs.Path, i int) pfs.Info {
	file := pfs.Info{Mode: 0o644, ModTime: made, Version: "1"}
	sub := pfs.Info{Mode: fs.ModeDir | 0o755, ModTime: made}
	switch {
	case dir == pfs.Root && i == 0:
		file.Name, file.Size = "big", bigSize
	case dir == pfs.Root:
		sub.Name = []string{"", "small", "list", "many"}[i]
		return sub
	case dir == "/many":
		sub.Name = fmt.Sprintf("d%03d", i)
		return sub
	case dir == "/small":
		file.Name, file.Size = fmt.Sprintf("f%06d", i), smallSize
	default:
		file.Name = fmt.Sprintf("f%06d", i)
	}
	return file
}

// find describes name.
func (s *simulated) find(name pfs.Path) (pfs.Info, error) {
	if name == pfs.Root {
		return pfs.Info{Mode: fs.ModeDir | 0o755, ModTime: made}, nil
	}
	dir, base := name.Parent(), name.Base()
	n := count(dir)
	i, err := strconv.Atoi(strings.TrimLeft(base, "df"))
	if dir == pfs.Root {
		i, err = 0, nil
		for i < n && child(dir, i).Name != base {
			i++
		}
	}
	if err != nil || i >= n || child(dir, i).Name != base {
		return pfs.Info{}, pfs.NotExist
	}
	return child(dir, i), nil
}

func (s *simulated) Stat(ctx context.Context, name pfs.Path) (pfs.Info, error) {
	if err := s.net.Wait(ctx, 0); err != nil {
		return pfs.Info{}, context.Cause(ctx)
	}
	return s.find(name)
}

func (s *simulated) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (p pfs.Page, err error) {
	if err := s.net.Wait(ctx, 0); err != nil {
		return p, context.Cause(ctx)
	}
	from, _ := strconv.Atoi(opts.Token)
	n := count(dir)
	for i := from; i < min(n, from+opts.Max()); i++ {
		p.Entries = append(p.Entries, child(dir, i))
	}
	if next := from + len(p.Entries); next < n {
		p.Next = strconv.Itoa(next)
	}
	return p, nil
}

func (s *simulated) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	info, err := s.Stat(ctx, name)
	return &simulatedFile{s, info}, err
}

// ReadBatch reads many files with one request, as a service does.
func (s *simulated) ReadBatch(ctx context.Context, files []pfs.BatchFile) []error {
	n := 0
	errs := make([]error, len(files))
	for i := range files {
		files[i].Info, errs[i] = s.find(files[i].Path)
		n += fill(files[i].Data, 0)
	}
	if err := s.net.Wait(ctx, n); err != nil {
		for i := range errs {
			errs[i] = context.Cause(ctx)
		}
	}
	return errs
}

// fill makes content from offset off on.
func fill(p []byte, off int64) int {
	for n := 0; n < len(p); {
		n += copy(p[n:], pattern[(off+int64(n))%int64(len(pattern)):])
	}
	return len(p)
}

type simulatedFile struct {
	s    *simulated
	info pfs.Info
}

func (f *simulatedFile) Info() pfs.Info { return f.info }
func (f *simulatedFile) Close() error   { return nil }

func (f *simulatedFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	want := p[:max(0, min(int64(len(p)), f.info.Size-off))]
	if err := f.s.net.Wait(ctx, len(want)); err != nil {
		return 0, context.Cause(ctx)
	}
	if fill(want, off); len(want) < len(p) {
		return len(want), io.EOF
	}
	return len(want), nil
}

// ServeHTTP makes the store a WebDAV server at the same rates, for rclone.
func (s *simulated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := pfs.Path(path.Clean("/" + r.URL.Path))
	info, err := s.find(name)
	if err != nil {
		_ = s.net.Wait(r.Context(), 0)
		http.NotFound(w, r)
		return
	}
	switch r.Method {
	case "PROPFIND":
		type prop struct {
			Modified string    `xml:"D:getlastmodified"`
			Length   int64     `xml:"D:getcontentlength"`
			Dir      *struct{} `xml:"D:resourcetype>D:collection"`
		}
		type response struct {
			Href   string `xml:"D:href"`
			Prop   prop   `xml:"D:propstat>D:prop"`
			Status string `xml:"D:propstat>D:status"`
		}
		all := struct {
			XMLName   xml.Name   `xml:"D:multistatus"`
			Namespace string     `xml:"xmlns:D,attr"`
			Responses []response `xml:"D:response"`
		}{Namespace: "DAV:"}
		add := func(name pfs.Path, info pfs.Info) {
			e := response{Href: string(name), Prop: prop{made.Format(http.TimeFormat), info.Size, nil}, Status: "HTTP/1.1 200 OK"}
			if info.IsDir() {
				e.Prop.Dir, e.Href = &struct{}{}, strings.TrimSuffix(e.Href, "/")+"/"
			}
			all.Responses = append(all.Responses, e)
		}
		add(name, info)
		if info.IsDir() && r.Header.Get("Depth") != "0" {
			for i := range count(name) {
				e := child(name, i)
				add(name.Join(e.Name), e)
			}
		}
		text, err := xml.Marshal(all)
		if err != nil || s.net.Wait(r.Context(), len(text)) != nil {
			return
		}
		w.WriteHeader(http.StatusMultiStatus)
		_, _ = w.Write(text)
	case http.MethodGet, http.MethodHead:
		answer, err := s.net.Request(r.Context())
		if err != nil {
			return
		}
		w.Header().Set("ETag", `"1"`)
		content := paced{r.Context(), answer, info.Size}
		http.ServeContent(w, r, "", made, io.NewSectionReader(content, 0, info.Size))
	default:
		http.Error(w, "read-only", http.StatusMethodNotAllowed)
	}
}

// paced is the content of a file, as it comes over the network.
type paced struct {
	ctx    context.Context
	answer *testbed.Answer
	size   int64
}

func (c paced) ReadAt(p []byte, off int64) (int, error) {
	p = p[:max(0, min(int64(len(p)), c.size-off))]
	return fill(p, off), c.answer.Pass(c.ctx, len(p))
}
