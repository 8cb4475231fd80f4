// Package jobfile reads, checks and writes the job files of other systems: PaddleJob of the paddle-operator and of
// Kubeflow, Volcano jobs, the JSON and the YAML of OpenPAI, and this project's own YAML.
//
// Read recognizes the format of a file by its content. It decodes strictly: each mistake is a Finding with its line
// and column, and the rest is still read. File.Job translates a file into a Job, which has what the formats have in
// common, and Job.Write writes it in any format. Both say what they leave out, field by field: a translation
// takes fields away from a copy as it carries them, and what remains was left out. So no field can be
// forgotten. A Draft makes the specification that engines take.
//
// Check applies the rules of the formats and of the systems behind them to all files of a command together, since
// a job may be in another file than the volumes that it uses.
//
// # Files
//
//	read             the documents of a file, and their format
//	decode           a node of YAML against a Go type
//	finding, sarif   what is wrong with a file, and how a correction is applied
//	check            the rules: of OpenPAI and our own, of Kubernetes (checkkube), of all texts (checktext)
//	checkkube, checktext  see check
//	formats, pai     the types of the formats
//	job              what the formats have in common
//	fromkube, frompai, fromown  the readers into a Job
//	tokube, topai, toown        the writers
//	rest, matters    what a translation leaves out, and whether that changes what runs
//	draft            a specification for engines in the making; totasks makes it of jobs of OpenPAI
//	totasks          see draft
//	shell            commands of shells and of containers
package jobfile
