// These tests check the import rules of ARCHITECTURE.md with go list.
package pfs_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/paddlecloud/pfs/"

// allowed lists for each package the packages of this module that it may import. A package
// that is not listed fails the test.
var allowed = map[string][]string{
	"pfs":        {},
	"pfs/digest": {"pfs"},
	"pfs/retry":  {"pfs"},
	"pfs/auth":   {"pfs", "internal/lru", "internal/fair"},
	"pfs/wire":   {"pfs", "internal/unixmode"},

	"pfs/internal/keylock": {},
	"pfs/internal/posix":   {"pfs"},
	"pfs/internal/rules":   {"pfs", "internal/unixmode"},
	"internal/unixmode":    {},
	"internal/fair":        {},
	"internal/lru":         {},
	"internal/nearest":     {},
	"internal/strictyaml":  {"pfs", "internal/nearest"},
	"internal/pace":        {},

	// Stores never import each other.
	"pfs/memfs":   {"pfs", "pfs/digest", "pfs/internal/rules"},
	"pfs/localfs": {"pfs", "pfs/digest", "pfs/internal/keylock", "pfs/internal/posix", "pfs/internal/rules", "internal/unixmode"},
	"pfs/aferofs": {"pfs", "pfs/digest", "pfs/internal/posix", "pfs/internal/rules"},
	"pfs/cephfs":  {"pfs", "pfs/digest", "pfs/retry", "pfs/internal/keylock", "pfs/internal/posix", "pfs/internal/rules", "internal/unixmode"},
	"pfs/hdfsfs":  {"internal/hadooptoken", "pfs", "pfs/digest", "pfs/retry", "pfs/internal/rules", "pfs/hdfsfs/internal/datanode", "pfs/hdfsfs/internal/hdfsproto", "pfs/hdfsfs/internal/kms", "pfs/hdfsfs/internal/rpc", "pfs/hdfsfs/internal/sasl"},
	"pfs/sftpfs":  {"pfs", "pfs/digest", "pfs/internal/rules"},

	// The client of HDFS.
	"pfs/hdfsfs/internal/datanode":  {"pfs", "pfs/hdfsfs/internal/hdfsproto", "pfs/hdfsfs/internal/sasl"},
	"pfs/hdfsfs/internal/hdfsproto": {},
	"pfs/hdfsfs/internal/kms":       {"pfs", "pfs/hdfsfs/internal/hdfsproto", "pfs/hdfsfs/internal/sasl"},
	"pfs/hdfsfs/internal/rpc":       {"pfs", "pfs/hdfsfs/internal/hdfsproto", "pfs/hdfsfs/internal/sasl"},
	"pfs/hdfsfs/internal/sasl":      {},

	// Decorators, and the tree that users see, which is built from them.
	"pfs/rofs":      {"pfs"},
	"pfs/permfs":    {"pfs"},
	"pfs/linkfs":    {"pfs"},
	"pfs/cachefs":   {"pfs", "pfs/digest"},
	"pfs/stagefs":   {"pfs", "pfs/digest", "pfs/internal/rules", "pfs/retry", "pfs/transfer"},
	"pfs/namespace": {"pfs", "pfs/auth", "pfs/permfs", "pfs/linkfs"},

	"pfs/transfer": {"pfs", "pfs/digest", "pfs/retry", "internal/tempfile"},
	"pfs/server":   {"internal/lru", "internal/pace", "pfs", "pfs/auth", "pfs/digest", "internal/fair", "pfs/retry", "pfs/transfer", "pfs/wire"},
	"pfs/client":   {"pfs", "pfs/retry", "pfs/wire"},
	"pfs/web":      {"internal/job", "internal/job/jobfile", "internal/job/jobhttp", "pfs", "pfs/auth", "pfs/dataset/manifest", "pfs/dataset/payload", "pfs/digest", "internal/fair", "pfs/linkfs", "pfs/wire", "internal/gateway", "internal/pace", "recordio", "recordio/convert"},
	"pfs/pfstest":  {"pfs", "pfs/digest", "pfs/memfs"},

	// Gateways of other protocols. They never import each other.
	"internal/gateway":             {"internal/pace", "pfs", "pfs/auth", "pfs/digest"},
	"pfs/webdav":                   {"internal/gateway", "internal/pace", "pfs", "pfs/auth", "pfs/digest", "internal/fair", "pfs/linkfs", "pfs/wire"},
	"internal/hadooptoken":         {},
	"pfs/webhdfs":                  {"internal/gateway", "internal/hadooptoken", "internal/lru", "internal/pace", "internal/unixmode", "pfs", "pfs/auth", "pfs/digest", "pfs/linkfs"},
	"internal/gateway/gatewaytest": {"internal/gateway", "internal/pace", "pfs", "pfs/auth", "pfs/namespace", "pfs/server"},

	"pfs/sftpd": {"internal/fair", "internal/gateway", "internal/unixmode", "pfs", "pfs/auth", "pfs/digest", "pfs/linkfs"},

	// The mount.
	"fuse":        {"pfs", "internal/unixmode"},
	"fuse/broker": {"pfs", "fuse"},

	// Jobs. Engines never import each other.
	"internal/job":            {"pfs"},
	"internal/job/launch":     {"internal/job", "pfs"},
	"internal/job/submit":     {"pfs", "pfs/transfer", "internal/job"},
	"internal/job/output":     {"pfs", "pfs/digest", "pfs/localfs", "pfs/retry", "pfs/transfer", "internal/job", "internal/sorter"},
	"internal/job/stage":      {"pfs", "pfs/digest", "pfs/localfs", "pfs/retry", "pfs/transfer", "internal/job", "internal/sorter"},
	"internal/job/jobfile":    {"pfs", "internal/job", "internal/nearest", "internal/strictyaml"},
	"internal/job/kubernetes": {"internal/fair", "pfs", "pfs/retry", "internal/job"},
	"internal/job/openpai":    {"pfs", "pfs/retry", "internal/job"},
	"internal/job/jobtest":    {"pfs", "internal/job"},
	"internal/job/jobhttp":    {"pfs", "internal/job"},
	"internal/job/local":      {"pfs", "pfs/localfs", "pfs/retry", "pfs/transfer", "internal/job", "internal/job/launch", "internal/job/output", "internal/job/stage"},

	// For tests only: a proxy that corrupts traffic, and real clusters.
	"internal/relay":   {},
	"internal/testbed": {},
	// Datasets are where file systems and data preparation meet.
	"internal/tempfile": {},
	"internal/sorter":   {"internal/tempfile"},
	"pfs/dataset": {"pfs", "pfs/digest", "pfs/transfer", "pfs/dataset/manifest", "pfs/dataset/payload", "pfs/dataset/recordfile",
		"recordio", "recordio/convert", "shard", "split", "internal/lru", "internal/sorter"},
	"pfs/dataset/recordfile": {"pfs", "internal/tempfile", "pfs/transfer", "recordio", "recordio/convert"},
	"pfs/dataset/manifest":   {},
	"pfs/dataset/payload":    {"recordio/convert"},
	// Data preparation does not know file systems.
	"recordio":         {},
	"recordio/convert": {},
	"split":            {},
	"shard":            {},

	// Only cmd reads flags and configuration, and only the list of stores imports
	// stores; paddlectl's own local side is one.
	"cmd/internal/backends":           {"pfs", "internal/nearest", "cmd/internal/cliargs", "pfs/cephfs", "pfs/hdfsfs", "pfs/localfs", "pfs/memfs", "pfs/sftpfs"},
	"cmd/internal/cliargs":            {"internal/nearest"},
	"cmd/internal/cliio":              {"internal/job", "pfs", "pfs/transfer", "cmd/internal/cliargs"},
	"cmd/internal/config":             {"pfs", "internal/nearest", "pfs/client", "cmd/internal/cliargs", "internal/strictyaml"},
	"cmd/internal/app":                {"pfs", "internal/nearest", "pfs/client", "pfs/localfs", "pfs/retry", "pfs/transfer", "recordio", "cmd/internal/cliargs", "cmd/internal/cliio", "cmd/internal/config", "internal/sorter"},
	"cmd/paddlectl/internal/copying":  {"pfs", "pfs/retry", "pfs/transfer", "cmd/internal/cliargs", "cmd/internal/cliio", "cmd/internal/app", "internal/sorter"},
	"cmd/paddlectl/internal/datafile": {"pfs", "pfs/dataset", "pfs/dataset/payload", "pfs/dataset/recordfile", "pfs/transfer", "recordio", "cmd/internal/cliargs", "cmd/internal/cliio", "cmd/internal/app", "cmd/paddlectl/internal/copying", "internal/tempfile"},
	"cmd/paddlectl":                   {"cmd/internal/app", "cmd/internal/mounting", "cmd/paddlectl/config", "cmd/paddlectl/dataset", "cmd/paddlectl/files", "cmd/paddlectl/help", "cmd/paddlectl/jobs", "cmd/paddlectl/localjobs", "cmd/paddlectl/recordio"},
	"cmd/pfs-agent/csi":               {"pfs", "fuse"},
	"deploy/image":                    {},
	"cmd/pfs-agent":                   {"pfs", "fuse", "fuse/broker", "cmd/pfs-agent/csi", "cmd/internal/app", "cmd/internal/cliargs", "cmd/internal/cliio", "cmd/internal/mounting", "internal/job", "internal/job/launch", "internal/job/output", "internal/job/stage", "pfs/cachefs", "pfs/transfer"},
	"cmd/internal/mounting":           {"pfs", "fuse", "fuse/broker", "pfs/cachefs", "pfs/stagefs", "pfs/retry", "pfs/dataset/manifest", "cmd/internal/backends", "cmd/internal/cliargs", "cmd/internal/cliio", "cmd/internal/app"},
	"cmd/paddlectl/config":            {"internal/hadooptoken", "internal/nearest", "pfs", "pfs/client", "cmd/internal/cliargs", "cmd/internal/cliio", "cmd/internal/config", "cmd/internal/app"},
	"cmd/paddlectl/dataset":           {"pfs", "pfs/dataset", "pfs/dataset/manifest", "pfs/dataset/payload", "pfs/dataset/recordfile", "pfs/transfer", "recordio", "recordio/convert", "shard", "split", "cmd/internal/cliargs", "cmd/internal/cliio", "cmd/internal/app", "cmd/paddlectl/internal/copying", "cmd/paddlectl/internal/datafile", "cmd/paddlectl/jobs"},
	"cmd/paddlectl/files":             {"pfs", "pfs/dataset/recordfile", "pfs/digest", "pfs/transfer", "cmd/internal/cliargs", "cmd/internal/cliio", "cmd/internal/app", "cmd/paddlectl/internal/copying", "cmd/paddlectl/internal/datafile", "internal/sorter"},
	"cmd/paddlectl/help":              {"pfs", "internal/job", "pfs/dataset", "pfs/dataset/payload", "pfs/digest", "recordio/convert", "shard", "cmd/internal/cliargs", "cmd/paddlectl/files", "cmd/internal/app", "cmd/paddlectl/recordio"},
	"cmd/paddlectl/jobs":              {"pfs", "pfs/localfs", "pfs/retry", "pfs/transfer", "internal/job", "internal/job/jobfile", "internal/job/jobhttp", "internal/job/local", "internal/job/output", "internal/job/submit", "cmd/internal/cliargs", "cmd/internal/cliio", "cmd/internal/app", "cmd/paddlectl/localjobs"},
	"cmd/paddlectl/localjobs":         {"pfs", "internal/job", "internal/job/local", "cmd/internal/cliargs", "cmd/internal/cliio", "cmd/internal/app"},
	"cmd/paddlectl/recordio":          {"pfs", "pfs/dataset/recordfile", "pfs/transfer", "recordio", "split", "cmd/internal/cliargs", "cmd/internal/cliio", "cmd/internal/app", "cmd/paddlectl/internal/datafile"},
	"cmd/pfsd": {"pfs", "pfs/auth", "pfs/namespace", "pfs/server", "pfs/sftpd", "pfs/web", "pfs/webdav", "pfs/webhdfs", "pfs/wire", "internal/gateway", "internal/job", "internal/job/jobhttp", "internal/job/kubernetes", "internal/job/openpai", "internal/job/output", "internal/job/submit",
		"cmd/internal/backends", "cmd/internal/cliargs", "cmd/internal/cliio", "internal/strictyaml"},
}

// modules lists for each external module the packages that may import it. An unlisted module
// fails the test, and so does a rule that is not needed.
var modules = map[string][]string{
	// Only a cluster's own store imports the library for that cluster.
	"github.com/ceph/go-ceph":          {"pfs/cephfs"},
	"github.com/colinmarc/hdfs/v2":     {"pfs/hdfsfs"},
	"github.com/klauspost/reedsolomon": {"pfs/hdfsfs/internal/datanode"},
	"github.com/jcmturner/gokrb5/v8":   {"pfs/hdfsfs", "pfs/hdfsfs/internal/rpc", "pfs/hdfsfs/internal/sasl"},
	"google.golang.org/protobuf":       {"pfs/hdfsfs", "pfs/hdfsfs/internal/datanode", "pfs/hdfsfs/internal/hdfsproto", "pfs/hdfsfs/internal/rpc", "recordio/convert"},
	"github.com/hanwen/go-fuse/v2":     {"fuse"},
	"github.com/spf13/afero":           {"pfs/aferofs"},
	"github.com/pkg/sftp":              {"pfs/sftpfs"},
	"golang.org/x/sys":                 {"cmd/internal/mounting", "fuse", "internal/job/launch", "internal/job/local", "pfs/auth", "pfs/cachefs", "pfs/localfs"},
	"github.com/zeebo/blake3":          {"pfs/digest"},
	"github.com/zeebo/xxh3":            {"pfs/dataset", "pfs/digest", "pfs/wire"},
	"golang.org/x/net":                 {"pfs/webdav"},
	"golang.org/x/sync":                {"internal/job/openpai", "pfs/auth", "pfs/cephfs", "pfs/server", "pfs/transfer"},
	"golang.org/x/time":                {"pfs/transfer"},
	"github.com/bmatcuk/doublestar/v4": {"pfs/transfer"},

	"github.com/golang-jwt/jwt/v5":        {"pfs/auth"},
	"golang.org/x/crypto":                 {"internal/testbed", "pfs/auth", "pfs/sftpd", "pfs/sftpfs"},
	"github.com/vmihailenco/msgpack/v5":   {"pfs/wire"},
	"github.com/prometheus/client_golang": {"pfs/server", "cmd/pfs-agent"},

	// Formats of records and of their sources.
	"github.com/apache/arrow-go/v18": {"recordio/convert"},
	"github.com/hamba/avro/v2":       {"recordio/convert"},
	"github.com/apache/thrift":       {"recordio/convert"},
	"github.com/golang/snappy":       {"recordio"},
	"github.com/klauspost/compress":  {"recordio", "recordio/convert"},
	"golang.org/x/text":              {"pfs/auth", "recordio/convert", "cmd/internal/cliio"},

	// The interface between Kubernetes and plugins.
	"github.com/container-storage-interface/spec": {"cmd/pfs-agent/csi"},
	"google.golang.org/grpc":                      {"cmd/pfs-agent/csi"},
	"k8s.io/kubelet":                              {"cmd/pfs-agent/csi"},
	"k8s.io/api":                                  {"internal/job/jobfile", "internal/job/kubernetes"},
	"k8s.io/apimachinery":                         {"internal/job/jobfile", "internal/job/kubernetes"},
	"k8s.io/client-go":                            {"internal/job/kubernetes"},

	"github.com/rogpeppe/go-internal": {"cmd/internal/config"},
	"github.com/urfave/cli/v2": {"cmd/internal/cliargs", "cmd/pfsd", "cmd/pfs-agent",
		"cmd/paddlectl", "cmd/paddlectl/config", "cmd/paddlectl/dataset", "cmd/paddlectl/files", "cmd/paddlectl/help", "cmd/paddlectl/jobs", "cmd/paddlectl/localjobs", "cmd/internal/app", "cmd/paddlectl/internal/copying", "cmd/paddlectl/internal/datafile", "cmd/internal/mounting", "cmd/paddlectl/recordio"},
	"go.yaml.in/yaml/v3": {"pfs/auth", "cmd/internal/config", "internal/job/jobfile", "internal/strictyaml", "cmd/pfsd"},
	"golang.org/x/term":  {"cmd/internal/cliio"},
}

// longest is the length of the longest allowed chain of imports. The packages of
// paddlectl and pfs-agent are counted separately.
const longest, longestOfCommands = 4, 6

// TestImports checks the module as built without and with CephFS. It compiles nothing, so it
// needs no Ceph headers.
func TestImports(t *testing.T) {
	imports := packageImports(t, "", "ceph")
	needed := map[string][]string{}
	for pkg, paths := range imports {
		rules, known := allowed[pkg]
		if !known {
			t.Errorf("%s has no import rule", pkg)
		}
		for path := range paths {
			other, ours := strings.CutPrefix(path, module)
			switch {
			case ours && !slices.Contains(rules, other):
				t.Errorf("%s must not import %s", pkg, other)
			case !ours && foreign(path):
				of := moduleOf(path)
				needed[of] = append(needed[of], pkg)
				if !slices.Contains(modules[of], pkg) {
					t.Errorf("%s must not import %s", pkg, path)
				}
			}
		}
	}
	for pkg := range allowed {
		if imports[pkg] == nil {
			t.Errorf("there is a rule for %s, which does not exist", pkg)
		}
		most := longest
		if isCommand(pkg) {
			most = longestOfCommands
		}
		if n := depth(imports, pkg); n > most {
			t.Errorf("the imports of %s are %d deep, more than %d", pkg, n, most)
		}
	}
	for of, pkgs := range modules {
		for _, pkg := range pkgs {
			if !slices.Contains(needed[of], pkg) {
				t.Errorf("%s may import %s, and does not", pkg, of)
			}
		}
	}
}

// packageImports returns the imports of each package under any of the build tags, without its
// tests. It omits the root and packages that have only tests.
func packageImports(t *testing.T, tags ...string) map[string]map[string]bool {
	imports := map[string]map[string]bool{}
	for _, tag := range tags {
		out, err := exec.Command("go", "list", "-e", "-tags", tag, "-json=ImportPath,Imports,GoFiles", "./...").Output()
		if err != nil {
			t.Fatalf("go list -tags %q: %v", tag, err)
		}
		for d := json.NewDecoder(strings.NewReader(string(out))); ; {
			var p struct {
				ImportPath       string
				Imports, GoFiles []string
			}
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			pkg, ours := strings.CutPrefix(p.ImportPath, module)
			if !ours || len(p.GoFiles) == 0 {
				continue
			}
			if imports[pkg] == nil {
				imports[pkg] = map[string]bool{}
			}
			for _, path := range p.Imports {
				imports[pkg][path] = true
			}
		}
	}
	return imports
}

// foreign reports whether the package belongs neither to this module nor to the standard library.
func foreign(path string) bool {
	host, _, _ := strings.Cut(path, "/")
	return strings.Contains(host, ".")
}

// moduleOf returns the module of modules that contains the package, or else the package itself.
func moduleOf(path string) string {
	for of := range modules {
		if path == of || strings.HasPrefix(path, of+"/") {
			return of
		}
	}
	return path
}

// depth returns the number of imports in the longest chain of packages from pkg down.
func depth(imports map[string]map[string]bool, pkg string) int {
	most := 0
	for path := range imports[pkg] {
		if other, ours := strings.CutPrefix(path, module); ours && isCommand(pkg) == isCommand(other) {
			most = max(most, 1+depth(imports, other))
		}
	}
	return most
}

// isCommand reports whether pkg is a package of paddlectl or pfs-agent.
func isCommand(pkg string) bool {
	return strings.HasPrefix(pkg, "cmd/paddlectl") || pkg == "cmd/pfs-agent" || pkg == "cmd/internal/app" || pkg == "cmd/internal/mounting"
}
