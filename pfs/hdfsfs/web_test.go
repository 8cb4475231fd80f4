package hdfsfs

import (
	"net/http"
	"testing"
)

// TestWebGoesDirect asks the web servers of NameNodes themselves, whatever the environment
// says of proxies.
func TestWebGoesDirect(t *testing.T) {
	if newTransport(Options{}).(*http.Transport).Proxy != nil {
		t.Error("WebHDFS goes through a proxy")
	}
}
