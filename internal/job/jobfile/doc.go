// Package jobfile reads, checks and writes the job files of other systems: PaddleJob of the paddle-operator and of
// Kubeflow, Volcano jobs, the JSON and the YAML of OpenPAI, and this project's own YAML.
//
// Read recognizes the format of a file by its content. It decodes strictly: each mistake is a Finding with its line
// and column, and the rest is still read. File.Job translates a file into a Job, which has the common fields of the
// formats, and Job.Write writes a Job in any format. Both report every field that they leave out: a translation removes
// the fields that it carries over from a copy, and the remaining fields were left out. So no field can be forgotten. A
// Draft makes the specification for engines.
//
// Check applies the rules of the formats, and of the systems that run them, to all files of a command together, since
// a job and its volumes may be in different files.
//
// # Files
//
//	read                         the documents of a file, and their format
//	decode                       a node of YAML against a Go type
//	finding, sarif               findings, and the correction of a file
//	check, checkkube, checktext  the rules: of OpenPAI and this project; of Kubernetes; of all texts
//	formats, pai                 the types of the formats
//	job                          the common fields of the formats
//	fromkube, frompai, fromown   the readers into a Job
//	tokube, topai, toown         the writers
//	rest, matters                fields that a translation leaves out, and whether they change what runs
//	draft, totasks               a draft of a specification; a draft from a job of OpenPAI
//	shell                        commands of shells and of containers
package jobfile
