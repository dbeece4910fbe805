// Package observe makes the consumer service visible to its operator: metrics, health and the log.
//
// The consumer reports events to an [Observer] (which implements the consumer's Observer interface); it answers over
// HTTP:
//
//	/metrics  Prometheus
//	/healthz  200 while the consumer's loop moves, 503 with the reason when it has been silent for too long: restart it
//	/readyz   200 when an artifact is loaded and the consumer group is joined, 503 with the reason before: wait
//
// `rivulet serve` uses it, too, without a group (Options.NoGroup), and adds the metrics of its requests to its registry
// (docs/serve.md).
//
// The metrics; _total are counters, _seconds histograms in seconds:
//
//	rivulet_arrivals_total{version}                      records read and delivered as predictions or dead letters, by
//	                                                     the version that answered
//	rivulet_arrival_bytes_total                          bytes of their keys and values
//	rivulet_predictions_total{class}                     predictions published
//	rivulet_abstained_predictions_total                  predictions below the abstention threshold
//	rivulet_degraded_predictions_total                   predictions that lack rows of M because Redis was down, or had
//	                                                     lost or damaged them
//	rivulet_dead_letters_total{reason,version}           records set aside, by event's reasons and the version that
//	                                                     answered
//	rivulet_dropped_records_total{reason}                records that no topic takes in any form: too_large,
//	                                                     invalid_record; the log names their places
//	rivulet_forgotten_ids_total{outcome}                 ids that records asked to forget (input.forget): removed,
//	                                                     unknown (nothing was stored)
//	rivulet_skipped_records_total{kind}                  records that are no arrivals and nothing is wrong with: delete,
//	                                                     tombstone, other
//	rivulet_batch_records                                records of a micro-batch (histogram)
//	rivulet_stage_seconds{stage}                         a micro-batch in decode, lookup, attach, infer, encode, wait,
//	                                                     publish, commit, in features where some are looked up by id,
//	                                                     and where arrivals get rows in keep, and in solve beside wait
//	                                                     and publish
//	rivulet_end_to_end_seconds                           from a record's timestamp until the brokers acknowledged its
//	                                                     prediction, or under exactly_once its transaction's end
//	rivulet_neighbours_total{kind}                       neighbours of arrivals: known, arrival, in_batch, unknown
//	rivulet_isolated_arrivals_total                      arrivals predicted from their features alone
//	rivulet_dropped_edges_total                          edges to oneself and repeated ones
//	rivulet_edge_wait_records{kind}                      arrivals and edges of their own that wait for each other
//	rivulet_edge_wait_bytes                              bytes of the records between them
//	rivulet_edge_wait_arrivals_total{outcome}            why arrivals waited no longer: complete, late, crowded,
//	                                                     superseded, idle
//	rivulet_edge_wait_edges_total{outcome}               edges of their own: joined, unmatched
//	rivulet_old_edges_total                              of the unmatched ones, those between two nodes of the graph
//	rivulet_edge_weights_total{reading}                  edges read otherwise: ignored, missing, above, direction,
//	                                                     type, unknown_type
//	rivulet_other_schema_records_total                   arrivals with features by name under the hash of another schema
//	rivulet_feature_values_total{feature,value}          values of features by name that are missing, or unknown:
//	                                                     categories that the table did not have, or too rarely
//	rivulet_feature_lookups_total                        arrivals whose features were looked up by id
//	rivulet_row_lookups_total                            rows of M that were asked for: one for each edge if M is in
//	                                                     memory, else for each distinct id of a batch
//	rivulet_cache_hits_total, rivulet_cache_misses_total, rivulet_cache_entries, rivulet_cache_bytes
//	rivulet_damaged_rows_total                           rows of M that were asked for and are damaged in Redis
//	rivulet_evicted_buckets_total                        buckets of M that were asked for and that Redis had lost
//	rivulet_arrival_rows, rivulet_arrival_rows_bytes     rows of M that arrivals were given, by all consumers
//	rivulet_arrival_rows_written_total, rivulet_arrival_rows_refused_total, rivulet_arrival_rows_found_total
//	rivulet_arrival_rows_lost_total                      rows that were given up because Redis did not take them
//	rivulet_arrival_rows_damaged_total                   stored rows that could not be decoded
//	rivulet_arrival_solves_total, rivulet_arrival_residual_total
//	                                                     rows solved, and the sum of the shares of messages that they
//	                                                     leave out
//	rivulet_lag_records{topic,partition}                 records behind the end of a partition that is assigned here,
//	                                                     and those that wait for edges
//	rivulet_rebalances_total, rivulet_assigned_partitions
//	rivulet_retries_total{stage}                         repeated attempts: version, topics, group, offsets, fetch,
//	                                                     lookup, rows, schemas, features, publish, labels
//	rivulet_throttled_seconds_total{requests}            pauses that brokers asked for by a quota: produce, fetch,
//	                                                     group, other
//	rivulet_stalled_seconds                              how long a batch in hand has waited, or an arrival for edges
//	                                                     beyond attach.wait; 0: the stream moves
//	rivulet_ready                                        1 if /readyz says that the consumer is ready, else 0
//	rivulet_lost_records_total{reason}                   records of the input that are gone: retention, truncation,
//	                                                     recreated
//	rivulet_window_predictions                           number of predictions in the window: the last 3840 to 4096
//	rivulet_window_confidence                            mean probability of the predicted class
//	rivulet_window_unknown_neighbours_ratio              share of unknown neighbours
//	rivulet_window_class_distance_ratio                  predicted classes against training's, see below
//	rivulet_window_feature_distance_ratio{feature}       features against training's: norm, non_zeros
//	rivulet_window_named_feature_distance_ratio{feature} each feature of the artifact's schema: at most 64, then (others)
//	rivulet_window_reference_confidence, rivulet_window_reference_unknown_neighbours_ratio  the same at training
//	rivulet_window_reference_accuracy_ratio              share of the validation nodes that were right at training
//	rivulet_labels_total{result}                         labels: right, wrong, unmatched, refused; if labels.topic is set
//	rivulet_window_labels, rivulet_window_accuracy_ratio, rivulet_window_calibration_error_ratio
//	                                                     of the last 3840 to 4096 predictions whose label came
//	rivulet_artifact_info{version}                       1 for the version that is served
//	rivulet_build_info{version,revision,go_version}      1
//
// The figures of the window say how far the stream is from the data of training. They belong to the version that
// serves and begin anew with each. A distance is the total variation, ½ Σ|p−q|, from the validation nodes at
// training (the artifact's reference): 0 for the same distribution, 1 for one that has nothing in common with it. Of
// n predictions it is about √(bins/(2πn)) by chance, with ten bins 0.02 of a full window, so a window of less than
// 512 says little. An artifact without a reference has none.
//
// Every member reads all labels and compares them with its own predictions: right and wrong add up over members,
// while a label for another member's prediction becomes unmatched here, once labels.remember further labels have
// come. A label that comes before its prediction waits for it, and only the first label of a prediction counts.
//
// Of counters with the label version the newest four versions keep theirs.
//
// The counts of the cache and of rows of arrivals begin anew with each version of the artifact, as Prometheus
// expects of counters that restart.
//
// A loop that reads, retries or delivers is alive: an outage of Kafka or Redis does not fail /healthz. A consumer
// without a partition has nothing to do and is alive, too.
package observe
