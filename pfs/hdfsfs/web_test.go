package hdfsfs

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestWebGoesDirect asks the web servers of NameNodes themselves, whatever the environment
// says of proxies.
func TestWebGoesDirect(t *testing.T) {
	if newTransport(Options{}).(*http.Transport).Proxy != nil {
		t.Error("WebHDFS goes through a proxy")
	}
}

// TestWebIsLateAtFirst uses WebHDFS also where its first answer does not come in time, as
// that of a NameNode that has just been started and is busy.
func TestWebIsLateAtFirst(t *testing.T) {
	c := testbed.HDFS(t)
	target, err := url.Parse(c.WebHDFS[0])
	must(t, err)
	o := options(c, c.Scratch(t))
	var asked atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(target)
	late := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			<-r.Context().Done() // until nobody waits any more
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
