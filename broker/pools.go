package broker

// Names of the pools that Pooled routes run on. A full pool answers SYSTEM_BUSY at once with its name and limit; nothing that was
// taken is dropped later. Sends and hot pulls use no pool: their bound is what is in flight on a connection.
const (
	poolCold  = "cold-read" // pulls and queries that read the disk
	poolAdmin = "admin"     // everything that mqadmin asks
	poolMeta  = "meta"      // clients' requests that may write a table: heartbeats that make a group or topic
)
