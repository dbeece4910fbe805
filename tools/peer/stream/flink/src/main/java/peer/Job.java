package peer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.streaming.api.datastream.AsyncDataStream;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.kafka.clients.consumer.OffsetResetStrategy;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * Arrivals from Kafka to predictions in Kafka, by a PyTorch server (server.py) that is asked asynchronously.
 *
 * <p>--design thin, tables: the arrival goes to the server, which has T. --design state: T is keyed state here (--state heap or
 * rocksdb), and the server gets 25 neighbours of the arrival with the means of ten of theirs. A checkpoint is made every second; a job
 * that starts where one has run goes on at its last checkpoint. One process with a MiniCluster: there is no network between operators.
 */
public final class Job {
    private static final int FIRST = 25; // neighbours of an arrival

    private Job() {}

    public static void main(String[] args) throws Exception {
        Map<String, String> flags = flags(args);
        String prepared = flags.get("prepared");
        boolean gathered = flags.get("design").equals("state");
        boolean exactlyOnce = flags.containsKey("exactly-once");

        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(configuration(flags));
        env.setParallelism(Integer.parseInt(flags.getOrDefault("parallelism", "2")));
        env.setBufferTimeout(5);
        env.enableCheckpointing(exactlyOnce ? 100 : 1000);

        KafkaSource<Messages.Arrival> source = KafkaSource.<Messages.Arrival>builder()
                .setBootstrapServers(flags.get("brokers")).setTopics(flags.get("in")).setGroupId(flags.get("group"))
                .setStartingOffsets(OffsetsInitializer.committedOffsets(OffsetResetStrategy.EARLIEST))
                .setDeserializer(new Parse(prepared, gathered ? FIRST : Integer.MAX_VALUE)).build();
        DataStream<Messages.Arrival> arrivals = env.fromSource(source, WatermarkStrategy.noWatermarks(), "arrivals");
        DataStream<Messages.Request> requests = gathered ? neighbourhoods(env, arrivals, prepared)
                : arrivals.map(Job::request).returns(Messages.Request.class);
        DataStream<Messages.Prediction> predictions = AsyncDataStream.unorderedWait(
                requests, new Serve(flags.get("socket"), gathered), 10, TimeUnit.MINUTES, 2 * Serve.BATCH);

        KafkaSink<Messages.Prediction> sink = KafkaSink.<Messages.Prediction>builder()
                .setBootstrapServers(flags.get("brokers"))
                .setRecordSerializer(new Answer(flags.get("out"), classes(prepared)))
                .setDeliveryGuarantee(exactlyOnce ? DeliveryGuarantee.EXACTLY_ONCE : DeliveryGuarantee.AT_LEAST_ONCE)
                .setTransactionalIdPrefix(flags.get("group")).setProperty("transaction.timeout.ms", "60000").build();
        predictions.sinkTo(sink);
        env.execute(flags.get("design"));
    }

    private static Configuration configuration(Map<String, String> flags) throws IOException {
        Path checkpoints = Path.of(flags.get("work")).toAbsolutePath().resolve("checkpoints");
        Files.createDirectories(checkpoints);
        Configuration conf = new Configuration();
        conf.setString("execution.checkpointing.dir", checkpoints.toUri().toString());
        conf.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        conf.setString("state.backend.type", flags.get("state").equals("rocksdb") ? "rocksdb" : "hashmap");
        conf.setString("execution.checkpointing.incremental", "true");
        conf.setString("pipeline.object-reuse", "true");
        conf.setString("taskmanager.memory.managed.size", "1g");
        conf.setString("taskmanager.memory.network.min", "256m");
        conf.setString("taskmanager.memory.network.max", "256m");
        conf.setString("rest.bind-port", "0");
        try (Stream<Path> files = Files.walk(checkpoints)) {
            Optional<Path> last = files.filter(f -> f.endsWith("_metadata")).max(Comparator.comparing(f -> f.toFile().lastModified()));
            last.ifPresent(f -> conf.setString("execution.state-recovery.path", f.getParent().toUri().toString()));
        }
        return conf;
    }

    private static Messages.Request request(Messages.Arrival arrival) {
        Messages.Request request = new Messages.Request();
        request.id = arrival.id;
        request.features = arrival.features;
        request.neighbours = arrival.neighbours;
        return request;
    }

    private static DataStream<Messages.Request> neighbourhoods(
            StreamExecutionEnvironment env, DataStream<Messages.Arrival> arrivals, String prepared) throws IOException {
        int nodes = new Original(Path.of(prepared, "nodes.bin")).nodes;
        DataStream<Messages.Node> original = env.fromSequence(0, nodes - 1).map(new Load(prepared)).returns(Messages.Node.class);
        DataStream<Messages.Ask> asks = arrivals.<Messages.Ask>flatMap((arrival, out) -> {
            for (int slot = 0; slot < arrival.neighbours.length; slot++) {
                Messages.Ask ask = new Messages.Ask();
                ask.node = arrival.neighbours[slot];
                ask.arrival = arrival.key;
                ask.slot = slot;
                out.collect(ask);
            }
        }).returns(Messages.Ask.class);
        SingleOutputStreamOperator<Messages.Part> first = original.connect(asks).keyBy(n -> n.id, a -> a.node)
                .process(new Neighbourhood.Hop(true)).returns(Messages.Part.class);
        DataStream<Messages.Part> second = original.connect(first.getSideOutput(Neighbourhood.FURTHER)).keyBy(n -> n.id, a -> a.node)
                .process(new Neighbourhood.Hop(false)).returns(Messages.Part.class);
        return arrivals.connect(first.union(second)).keyBy(a -> a.key, p -> p.arrival)
                .process(new Neighbourhood.Gather()).returns(Messages.Request.class);
    }

    private static Map<String, String> flags(String[] args) {
        Map<String, String> flags = new HashMap<>();
        for (int i = 0; i < args.length; i++) {
            String name = args[i].substring(2);
            flags.put(name, name.equals("exactly-once") ? "" : args[++i]);
        }
        return flags;
    }

    private static List<String> classes(String prepared) throws IOException {
        JsonNode model = new ObjectMapper().readTree(Path.of(prepared, "model.json").toFile());
        List<String> names = new java.util.ArrayList<>();
        model.get("classes").forEach(c -> names.add(c.asText()));
        return names;
    }

    /** Row to node. */
    private static final class Load extends RichMapFunction<Long, Messages.Node> {
        private final String prepared;
        private transient Original original;

        Load(String prepared) {
            this.prepared = prepared;
        }

        @Override
        public void open(OpenContext context) throws Exception {
            original = new Original(Path.of(prepared, "nodes.bin"));
        }

        @Override
        public Messages.Node map(Long row) {
            return original.node(row.intValue());
        }
    }

    /** The prediction as JSON, with the id as the key. */
    private record Answer(String topic, List<String> classes) implements KafkaRecordSerializationSchema<Messages.Prediction> {
        private static final ObjectMapper JSON = new ObjectMapper();

        @Override
        public ProducerRecord<byte[], byte[]> serialize(Messages.Prediction p, KafkaSinkContext context, Long timestamp) {
            Map<String, Object> body = new java.util.LinkedHashMap<>();
            body.put("id", p.id);
            body.put("class", p.label);
            body.put("class_name", classes.get(p.label));
            body.put("probability", p.probability);
            body.put("time", Instant.now().toString());
            try {
                return new ProducerRecord<>(topic, p.id.getBytes(), JSON.writeValueAsBytes(body));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
