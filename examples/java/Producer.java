import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Sends arrivals from a file of JSON lines: java Producer.java BROKERS FILE. */
public final class Producer {
    /** The id at the beginning of a line. Your own producer has the id at hand, and a JSON library. */
    private static final Pattern ID = Pattern.compile("^\\s*\\{\\s*\"id\"\\s*:\\s*(?:\"([^\"\\\\]+)\"|(-?\\d+))");

    public static void main(String[] args) throws IOException {
        int sent = 0;
        AtomicReference<Exception> failed = new AtomicReference<>();
        // Without a broker the first arrival fails after max.block.ms, and so would each one behind it.
        Map<String, Object> settings = Map.of("bootstrap.servers", args[0], "acks", "all", "max.block.ms", 20000);
        try (var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
                var lines = Files.lines(Path.of(args[1]))) {
            for (String line : (Iterable<String>) lines::iterator) {
                if (failed.get() != null) {
                    break;
                }
                var arrival = new ProducerRecord<>("arrivals", id(line), line.getBytes(StandardCharsets.UTF_8));
                arrival.headers().add("content-type", "application/json".getBytes(StandardCharsets.UTF_8));
                producer.send(arrival, (metadata, error) -> {
                    if (error != null) {
                        failed.compareAndSet(null, error);
                    }
                });
                sent++;
            }
        } // close waits for Kafka
        if (failed.get() != null) {
            System.err.println("an arrival was not sent to Kafka at " + args[0] + ": " + failed.get().getMessage());
            System.exit(1);
        }
        System.out.println(sent + " arrivals sent");
    }

    /** The record's key: a node's arrivals keep their order. */
    private static byte[] id(String line) {
        Matcher m = ID.matcher(line);
        if (!m.find()) {
            throw new IllegalArgumentException("no id at the beginning of " + line);
        }
        return (m.group(1) != null ? m.group(1) : m.group(2)).getBytes(StandardCharsets.UTF_8);
    }
}
