package hdfsfs

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestWebGoesDirect checks that WebHDFS ignores the proxies of the environment.
func TestWebGoesDirect(t *testing.T) {
	if newTransport(Options{}).(*http.Transport).Proxy != nil {
		t.Error("WebHDFS goes through a proxy")
	}
}

// TestWebIsLateAtFirst uses WebHDFS although its first response timed out, as it does when a
// NameNode has just started.
func TestWebIsLateAtFirst(t *testing.T) {
	c := testbed.HDFS(t)
	target, err := url.Parse(c.WebHDFS[0])
	must(t, err)
	o := options(c, c.Scratch(t))
	var asked atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(target)
	late := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			<-r.Context().Done() // until the client has given up
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(late.Close)
	o.WebHDFS, o.Timeout = []string{late.URL}, 3*time.Second
	f := open(t, o)
	if !f.hasWeb() {
		t.Fatal("WebHDFS is off, since it did not answer once")
	}
	pfstest.WriteFile(t, f, "/f", []byte("content"))
	pfstest.WantNames(t, f, "/", "f")
	if n := asked.Load(); n < 2 {
		t.Errorf("WebHDFS was asked %d times", n)
	}
}

// TestWebRefuses has a WebHDFS server that rejects the authentication while RPC accepts it. If it does so
// when the store is opened, the store works without it. Later, its calls are Unavailable and name WebHDFS.
func TestWebRefuses(t *testing.T) {
	c := testbed.HDFS(t)
	target, err := url.Parse(c.WebHDFS[0])
	must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	for name, answer := range map[string]struct {
		status int
		body   string
	}{
		"no user": {http.StatusForbidden, `{"RemoteException":{"exception":"SecurityException","javaClassName":"java.lang.SecurityException",` +
			`"message":"Failed to obtain user group information: java.io.IOException: Security enabled but user not authenticated by filter"}}`},
		"no ticket":    {http.StatusUnauthorized, "<html>Authentication required</html>"},
		"no anonymous": {http.StatusForbidden, "<html>Anonymous requests are disallowed</html>"},
	} {
		t.Run(name, func(t *testing.T) {
			var refuse atomic.Bool
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !refuse.Load() {
					proxy.ServeHTTP(w, r)
					return
				}
				w.WriteHeader(answer.status)
				_, _ = w.Write([]byte(answer.body))
			}))
			t.Cleanup(web.Close)
			o := options(c, c.Scratch(t))
			o.WebHDFS = []string{web.URL}
			before := open(t, o)
			refuse.Store(true)
			pfstest.WantKind(t, before.SetQuota(t.Context(), "/", 0, 0), pfs.Unavailable)
			pfstest.WriteFile(t, before, "/f", nil)
			if err := before.Remove(t.Context(), "/f"); pfs.KindOf(err) != pfs.Unavailable || !strings.Contains(err.Error(), "WebHDFS") {
				t.Errorf("a removal over WebHDFS: %v, want Unavailable and its name", err)
			}

			var told bytes.Buffer
			o.Logger = slog.New(slog.NewTextHandler(&told, nil))
			f := open(t, o)
			if f.hasWeb() || !strings.Contains(told.String(), "WebHDFS is off") || !strings.Contains(told.String(), "reason=") {
				t.Errorf("WebHDFS is used, or the log does not say why not: %s", told.String())
			}
			must(t, f.Remove(t.Context(), "/f"))
			pfstest.WantNames(t, f, "/")
		})
	}
}
