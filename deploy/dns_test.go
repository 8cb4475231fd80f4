package deploy_test

import (
	"encoding/json"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"golang.org/x/net/dns/dnsmessage"
)

// dns answers for the names of pods, HOST.SERVICE.NAMESPACE.svc.cluster.local, and of headless services, as a cluster's DNS
// does: from the EndpointSlices.
type dns struct {
	k testbed.KubernetesCluster

	mu    sync.Mutex
	names map[string][4]byte
	read  time.Time
}

// serveDNS serves the names of pods until the end of the test.
func serveDNS(t *testing.T, k testbed.KubernetesCluster) {
	t.Helper()
	conn, err := net.ListenPacket("udp", net.JoinHostPort(k.Host, "53"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	d := &dns{k: k}
	go func() {
		for {
			packet := make([]byte, 1500)
			n, from, err := conn.ReadFrom(packet)
			if err != nil {
				return
			}
			go func() {
				if reply := d.answer(packet[:n]); reply != nil {
					_, _ = conn.WriteTo(reply, from)
				}
			}()
		}
	}()
}

// answer returns the answer to a query, or nil.
func (d *dns) answer(packet []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(packet) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	address, ok := d.find(strings.ToLower(q.Name.String()))
	switch {
	case !ok:
		m.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1},
			Body:   &dnsmessage.AResource{A: address},
		}}
	}
	reply, _ := m.Pack()
	return reply
}

// find returns the address of a name. It reads the EndpointSlices at most once a second.
func (d *dns) find(name string) ([4]byte, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.read) > time.Second {
		d.load()
		d.read = time.Now()
	}
	address, ok := d.names[name]
	return address, ok
}

func (d *dns) load() {
	out, err := d.k.TryKubectl("", "get", "endpointslices", "-A", "-o", "json")
	var list struct {
		Items []struct {
			Metadata struct {
				Namespace string
				Labels    map[string]string
			}
			Endpoints []struct {
				Hostname  string
				Addresses []string
			}
		}
	}
	if err != nil || json.Unmarshal([]byte(out), &list) != nil {
		return // the names of before
	}
	d.names = map[string][4]byte{}
	for _, s := range list.Items {
		for _, e := range s.Endpoints {
			for _, a := range e.Addresses {
				if ip := net.ParseIP(a).To4(); ip != nil && e.Hostname != "" {
					service := s.Metadata.Labels["kubernetes.io/service-name"] + "." + s.Metadata.Namespace + ".svc.cluster.local."
					d.names[service], d.names[e.Hostname+"."+service] = [4]byte(ip), [4]byte(ip)
				}
			}
		}
	}
}
