package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/internal/testbed"
)

// gatewayStores are the columns of the table in docs/gateways.md.
var gatewayStores = []string{"local", "HDFS", "CephFS"}

// gatewayClient is a client of a gateway, and what it can do. The table in docs/gateways.md has nothing else.
type gatewayClient struct {
	name  string
	tests string // those that show it; by default TestGateways
	begin func(w *gatewayWorld)
	steps []gatewayStep
	short int // so many of the first steps are in make test
}

// gatewayStep is an operation of a client. The steps of a client run in order.
type gatewayStep struct {
	op string
	do func(w *gatewayWorld) error // nil if other tests show it
	no map[string]string           // stores on which it fails, and why
}

// TestGateways runs the clients of all gateways on a local store and on an HDFS.
func TestGateways(t *testing.T) {
	t.Run("local", func(t *testing.T) { testGateways(t, "local", backends.Spec{URL: "file://" + t.TempDir()}) })
	t.Run("HDFS", func(t *testing.T) {
		testbed.Long(t)
		testGateways(t, "HDFS", hdfsStore(t, testbed.HDFS(t)))
	})
}

// testGateways compares what the clients can do on a store with the table.
func testGateways(t *testing.T, name string, store backends.Spec) {
	w := newGatewayWorld(t, store)
	for _, c := range gatewayClients() {
		if testing.Short() {
			c.steps = c.steps[:c.short]
		}
		if c.tests != "" || len(c.steps) == 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			w := w.of(t, c.name)
			if c.begin != nil {
				c.begin(w)
			}
			for _, s := range c.steps {
				err := s.do(w)
				if reason, not := s.no[name]; not == (err == nil) {
					t.Errorf("%s: %v; the table says %q", s.op, err, reason)
				}
			}
		})
	}
}

// TestGatewayTable compares docs/gateways.md with the table.
func TestGatewayTable(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "gateways.md"))
	if err != nil {
		t.Fatal(err)
	}
	if table := gatewayTable(); !strings.Contains(string(text), "\n\n"+table+"\n") {
		t.Errorf("docs/gateways.md does not have this table:\n%s", table)
	}
}

// gatewayTable returns the table of docs/gateways.md. Operations of a client with the same cells share a row.
func gatewayTable() string {
	table := "| client | operations | " + strings.Join(gatewayStores, " | ") + " | test |\n|" + strings.Repeat("---|", len(gatewayStores)+3) + "\n"
	for _, c := range gatewayClients() {
		var cells []string
		ops := map[string][]string{}
		for _, s := range c.steps {
			var row []string
			for _, store := range gatewayStores {
				cell := "yes"
				if reason, not := s.no[store]; not {
					cell = "no: " + reason
				}
				row = append(row, cell)
			}
			key := strings.Join(row, " | ")
			if ops[key] == nil {
				cells = append(cells, key)
			}
			ops[key] = append(ops[key], s.op)
		}
		tests := c.tests
		if tests == "" {
			tests = "TestGateways"
		}
		for _, key := range cells {
			table += fmt.Sprintf("| %s | %s | %s | %s |\n", c.name, strings.Join(ops[key], ", "), key, tests)
		}
	}
	return table
}

// TestGatewayTableStores holds that the table has reasons for its stores only.
func TestGatewayTableStores(t *testing.T) {
	for _, c := range gatewayClients() {
		for _, s := range c.steps {
			for _, store := range slices.Sorted(maps.Keys(s.no)) {
				if !slices.Contains(gatewayStores, store) || s.no[store] == "" {
					t.Errorf("%s: %s: %q is no store of the table, or has no reason", c.name, s.op, store)
				}
			}
			if (s.do == nil) != (c.tests != "") {
				t.Errorf("%s: %s: neither a step nor the name of a test, or both", c.name, s.op)
			}
		}
	}
}
