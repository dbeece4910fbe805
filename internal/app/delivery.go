package app

import (
	"cmp"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/producer"
)

// deliverer makes what delivers batches; fence is nil where there are no transactions.
func deliverer(cfg config.Consumer, o producer.Options) (deliver consumer.Deliverer, fence consumer.Fencer, err error) {
	if cfg.Delivery != config.ExactlyOnce {
		deliver, err = producer.New(o)
		return deliver, nil, err
	}
	tx, err := producer.NewTransactions(o, producer.TransactionOptions{
		ID: cmp.Or(cfg.Kafka.TransactionalID, cfg.Kafka.Group), Timeout: cfg.Kafka.TransactionTimeout})
	return tx, tx, err
}
