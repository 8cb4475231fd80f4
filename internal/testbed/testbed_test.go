package testbed

import (
	"net"
	"testing"
)

func TestHDFS(t *testing.T) {
	c := HDFS(t)
	for _, a := range c.NameNodes {
		conn, err := net.Dial("tcp", a)
		if err != nil {
			t.Fatalf("NameNode: %v", err)
		}
		conn.Close()
	}
	if dir := c.Scratch(t); dir == "" {
		t.Error("no scratch directory")
	}
}

func TestValues(t *testing.T) {
	got := values("A=1\nnoise\nB=x=y\n")
	if len(got) != 2 || got["A"] != "1" || got["B"] != "x=y" {
		t.Errorf("values = %v", got)
	}
}
