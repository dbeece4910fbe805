package config

import "time"

// Labels says whether and how predictions are compared with the classes of the nodes that become known later.
type Labels struct {
	Topic    string        `key:"topic" default:"" usage:"topic of labels, read from its end on: recent predictions are compared with them, for the metrics of accuracy and calibration" zero:"none are read"`
	Remember int           `key:"remember" default:"100000" min:"1" max:"100000000" unit:"predictions" usage:"how many of the last predictions wait for their labels, and as many labels for their predictions; some 200 bytes each"`
	TTL      time.Duration `key:"ttl" default:"24h" min:"1s" usage:"how long they wait at most"`
}
