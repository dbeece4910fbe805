package config

// Refresh is the configuration of the trainer's refresh: where arrivals are read, and where versions are published.
type Refresh struct {
	Kafka Cluster     `key:"kafka"`
	Redis RedisServer `key:"redis"`
}

// Cluster is what a reader of topics needs of Kafka.
type Cluster struct {
	Brokers
}
