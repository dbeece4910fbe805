import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Prints predictions as they come: java Feed.java BROKERS COUNT. */
public final class Feed {
    /** The first fields, which come in this order (event/README.md). Your own feed has a JSON library. */
    private static final Pattern FIELDS = Pattern.compile(
            "^\\{\"id\":\"((?:[^\"\\\\]|\\\\.)*)\",\"class\":(\\d+),(?:\"class_name\":\"(?:[^\"\\\\]|\\\\.)*\",)?\"probability\":([^,}]+)");

    public static void main(String[] args) {
        int left = Integer.parseInt(args[1]);
        Map<String, Object> settings = Map.of("bootstrap.servers", args[0], "group.id", "feed-java",
                "auto.offset.reset", "earliest", "isolation.level", "read_committed", "enable.auto.commit", false,
                "max.poll.records", left);
        try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.partitionsFor("predictions", Duration.ofSeconds(20)); // poll would wait for a broker for ever, and say nothing
            consumer.subscribe(List.of("predictions"));
            while (left > 0) {
                int before = left;
                for (var record : consumer.poll(Duration.ofSeconds(1))) {
                    if (record.value() == null) { // a tombstone, by which a compacted topic forgets a key
                        continue;
                    }
                    var type = record.headers().lastHeader("content-type");
                    Matcher m = FIELDS.matcher(new String(record.value(), StandardCharsets.UTF_8));
                    if (record.headers().lastHeader("rivulet-reason") != null // a dead letter
                            || type != null && !new String(type.value(), StandardCharsets.UTF_8).startsWith("application/json")
                            || !m.find()) {
                        System.err.println(record.topic() + "/" + record.partition() + "/" + record.offset()
                                + " is passed over: it is no prediction in JSON");
                        continue;
                    }
                    System.out.println(m.group(1) + " " + m.group(2) + " " + m.group(3));
                    left--;
                }
                if (left < before) {
                    consumer.commitSync(); // of what was printed: after a crash some come again
                }
            }
        } catch (TimeoutException e) {
            System.err.println("Kafka at " + args[0] + " does not answer: " + e.getMessage());
            System.exit(1);
        }
    }
}
