package auth

import (
	"fmt"
	"strings"
)

// maxHDFSUser is the longest HDFS user, in bytes.
const maxHDFSUser = 255

// checkHDFSUser explains why name cannot be an HDFS user. "/" and "@" make it a Kerberos principal,
// which Hadoop truncates at the first of them.
func checkHDFSUser(name string) string {
	switch {
	case name == "":
		return "empty HDFS user"
	case len(name) > maxHDFSUser:
		return fmt.Sprintf("HDFS user of %d bytes, the limit is %d", len(name), maxHDFSUser)
	case name[0] == '-' || name[0] == '.':
		return fmt.Sprintf("HDFS user %q begins with %q", name, name[0])
	case strings.ContainsFunc(name, func(r rune) bool { return !hdfsRune(r) }):
		return fmt.Sprintf("HDFS user %q: only letters, digits, \".\", \"-\" and \"_\" are allowed", name)
	}
	return ""
}

func hdfsRune(r rune) bool {
	return isAlphanumeric(r) || strings.ContainsRune(".-_", r)
}

// systemUsers have privileges on machines and common clusters, so no new account gets such a name.
// An administrator may still set one as HDFS user.
var systemUsers = []string{
	"root", "daemon", "bin", "sys", "nobody", "ceph", "hdfs", "hadoop", "supergroup", "yarn", "mapred", "httpfs", "kms", "dr.who", "pfs", "pfsd",
	"hbase", "hive", "impala", "spark", "livy", "flink", "kafka", "zookeeper", "oozie", "hue", "solr", "knox", "ranger", "ambari", "trino", "presto",
}

// deriveHDFSUser spells the name of a new account in the allowed characters, and adds a number
// until taken returns false.
func deriveHDFSUser(name string, taken func(string) bool) string {
	base := strings.Map(func(r rune) rune {
		if hdfsRune(r) {
			return r
		}
		return '_'
	}, name)
	user := base
	for i := 2; taken(user); i++ {
		user = fmt.Sprintf("%s-%d", base, i)
	}
	return user
}
