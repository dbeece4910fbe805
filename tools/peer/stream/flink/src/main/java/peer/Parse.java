package peer;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.BitSet;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.util.Collector;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** A record to an Arrival, by Jackson's stream of tokens; neighbours that are not in T are left out, and beyond most a sample is drawn. */
final class Parse implements KafkaRecordDeserializationSchema<Messages.Arrival> {
    private static final JsonFactory JSON = new JsonFactory();
    private final String prepared;
    private final int most;
    private transient BitSet known;
    private transient int features;

    Parse(String prepared, int most) {
        this.prepared = prepared;
        this.most = most;
    }

    @Override
    public void open(DeserializationSchema.InitializationContext context) throws IOException {
        Original original = new Original(Path.of(prepared, "nodes.bin"));
        known = original.ids();
        features = original.features;
    }

    @Override
    public TypeInformation<Messages.Arrival> getProducedType() {
        return TypeInformation.of(Messages.Arrival.class);
    }

    @Override
    public void deserialize(ConsumerRecord<byte[], byte[]> record, Collector<Messages.Arrival> out) throws IOException {
        Messages.Arrival arrival = new Messages.Arrival();
        arrival.key = record.partition() + "-" + record.offset();
        arrival.features = new float[features];
        int[] edges = new int[16];
        int count = 0;
        try (JsonParser json = JSON.createParser(record.value())) {
            json.nextToken();
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String name = json.currentName();
                JsonToken value = json.nextToken();
                switch (name) {
                    case "id" -> arrival.id = json.getText();
                    case "features" -> features(json, value, arrival.features);
                    case "edges" -> {
                        while (json.nextToken() != JsonToken.END_ARRAY) {
                            int id = Integer.parseInt(json.getText());
                            if (known.get(id)) {
                                if (count == edges.length) {
                                    edges = Arrays.copyOf(edges, 2 * count);
                                }
                                edges[count++] = id;
                            }
                        }
                    }
                    default -> json.skipChildren();
                }
            }
        }
        for (int i = 0; count > most && i < most; i++) {
            int j = ThreadLocalRandom.current().nextInt(i, count);
            int id = edges[i];
            edges[i] = edges[j];
            edges[j] = id;
        }
        arrival.neighbours = Arrays.copyOf(edges, Math.min(count, most));
        out.collect(arrival);
    }

    private static void features(JsonParser json, JsonToken value, float[] features) throws IOException {
        if (value == JsonToken.START_ARRAY) {
            for (int i = 0; json.nextToken() != JsonToken.END_ARRAY; i++) {
                features[i] = json.getFloatValue();
            }
            return;
        }
        int[] indices = new int[features.length];
        int n = 0;
        boolean ones = true;
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            boolean places = json.currentName().equals("indices");
            json.nextToken();
            for (int i = 0; json.nextToken() != JsonToken.END_ARRAY; i++) {
                if (places) {
                    indices[n++] = json.getIntValue();
                } else {
                    features[indices[i]] = json.getFloatValue();
                    ones = false;
                }
            }
        }
        for (int i = 0; ones && i < n; i++) {
            features[indices[i]] = 1;
        }
    }
}
