//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
)

// gateway is the service as alice's clients of other protocols see it.
type gateway struct {
	endpoint, webhdfs, access, refresh string
	http                               *http.Client
	ssh                                secure
}

func newGateway(endpoint, webhdfs, ssh string, workers int) (*gateway, error) {
	t, err := tokens(endpoint, "alice", "")
	return &gateway{endpoint, webhdfs, t.Access, t.Refresh, &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: workers,
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true}, // of this machine, started by this program
	}}, secure{addr: ssh}}, err
}

// send sends a request and returns the answer, whose body the caller closes. A status from 400 on is an error.
func (g *gateway) send(ctx context.Context, method, path string, body io.Reader, header ...string) (*http.Response, error) {
	endpoint := g.endpoint
	if strings.HasPrefix(path, "/webhdfs/") {
		endpoint = g.webhdfs
	}
	r, err := http.NewRequestWithContext(ctx, method, endpoint+path, body)
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if strings.HasPrefix(path, "/ui/") {
		csrf := sha256.Sum256([]byte("csrf " + g.refresh))
		r.Header.Set("Cookie", "__Host-pfs-access="+g.access+"; __Host-pfs-refresh="+g.refresh)
		r.Header.Set("Pfs-Csrf", hex.EncodeToString(csrf[:16]))
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	} else {
		r.Header.Set("Authorization", "Bearer "+g.access)
	}
	answer, err := g.http.Do(r)
	if err == nil && answer.StatusCode >= 400 {
		answer.Body.Close()
		err = fmt.Errorf("%s %s: %s", method, path, answer.Status)
	}
	return answer, err
}

// ask sends a request and reads the answer, whose bytes done counts in units of 4 MiB.
func (g *gateway) ask(ctx context.Context, method, path string, body io.Reader, done *atomic.Int64, header ...string) error {
	answer, err := g.send(ctx, method, path, body, header...)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	p := sinks.Get().(*[pfs.ChunkSize]byte)
	defer sinks.Put(p)
	for {
		n, err := io.ReadFull(answer.Body, p[:])
		if n == len(p) {
			done.Add(1)
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func davGet(ctx context.Context, g *gateway, _ int, done *atomic.Int64) error {
	return g.ask(ctx, "GET", "/dav"+home+"file", nil, done)
}

func davPut(ctx context.Context, g *gateway, worker int, done *atomic.Int64) error {
	const chunks = 8
	return g.ask(ctx, "PUT", fmt.Sprint("/dav", home, "put", worker), io.LimitReader(&counted{done: done}, chunks*pfs.ChunkSize), new(atomic.Int64))
}

func davList(ctx context.Context, g *gateway, _ int, done *atomic.Int64) error {
	return g.ask(ctx, "PROPFIND", "/dav"+home+"many", nil, done, "Depth", "1")
}

func webRaw(ctx context.Context, g *gateway, _ int, done *atomic.Int64) error {
	return g.ask(ctx, "GET", "/ui/raw"+home+"file", nil, done)
}

var sumOfZeros = sync.OnceValue(func() string {
	sum := sha256.Sum256(zeros)
	return hex.EncodeToString(sum[:])
})

// webPut uploads a file as the script of the pages does.
func webPut(ctx context.Context, g *gateway, worker int, done *atomic.Int64) error {
	const chunks = 8
	name := fmt.Sprint(home, "put", worker)
	query := "?replace=yes&id=" + pfs.NewID() + "&size=" + strconv.Itoa(chunks*pfs.ChunkSize)
	if err := g.ask(ctx, "POST", "/ui/send/begin"+name+query, nil, new(atomic.Int64)); err != nil {
		return err
	}
	var leaves strings.Builder
	for i := range chunks {
		answer, err := g.send(ctx, "PUT", "/ui/send/leaf"+name+query+"&off="+strconv.Itoa(i*pfs.ChunkSize), bytes.NewReader(zeros), "Pfs-Sha256", sumOfZeros())
		if err != nil {
			return err
		}
		var reply struct{ Leaf string }
		err = json.NewDecoder(answer.Body).Decode(&reply)
		answer.Body.Close()
		if err != nil {
			return err
		}
		leaves.WriteString(reply.Leaf)
		done.Add(1)
	}
	return g.ask(ctx, "POST", "/ui/send/commit"+name+query, strings.NewReader(leaves.String()), new(atomic.Int64))
}

func webZip(ctx context.Context, g *gateway, _ int, done *atomic.Int64) error {
	return g.ask(ctx, "GET", "/ui/zip"+home+"folder", nil, done)
}

func hdfsGet(ctx context.Context, g *gateway, _ int, done *atomic.Int64) error {
	return g.ask(ctx, "GET", "/webhdfs/v1"+home+"file?op=OPEN", nil, done)
}

func hdfsPut(ctx context.Context, g *gateway, worker int, done *atomic.Int64) error {
	const chunks = 8
	r, err := http.NewRequestWithContext(ctx, "PUT", fmt.Sprint(g.webhdfs, "/webhdfs/v1", home, "put", worker, "?op=CREATE&overwrite=true"), nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+g.access)
	a, err := g.http.Transport.RoundTrip(r) // does not follow the address of the second step
	if err != nil {
		return err
	}
	a.Body.Close()
	return g.ask(ctx, "PUT", strings.TrimPrefix(a.Header.Get("Location"), g.webhdfs), io.LimitReader(&counted{done: done}, chunks*pfs.ChunkSize), new(atomic.Int64))
}

func hdfsList(ctx context.Context, g *gateway, _ int, done *atomic.Int64) error {
	return g.ask(ctx, "GET", "/webhdfs/v1"+home+"many?op=LISTSTATUS", nil, done)
}

// counted is an endless sequence of zeros; done counts each 4 MiB.
type counted struct {
	n    int
	done *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	clear(p)
	if c.n += len(p); c.n >= pfs.ChunkSize {
		c.n -= pfs.ChunkSize
		c.done.Add(1)
	}
	return len(p), nil
}
