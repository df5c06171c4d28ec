// Orders through a Kafka share group, from a producer to acknowledged: what a user would take instead of a pool.
//
//     java -cp 'build/kafka/jars/*' bench/peers/ShareGroup.java BROKERS batched|single ORDERS PARTITIONS
//
// `batched` acknowledges what a poll returned with one commit; `single` commits after each order, so that no more than
// one is done again after a crash. Prints one line of JSON.

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLongArray;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public final class ShareGroup {
  private static final int PAYLOAD_BYTES = 64;
  private static final int KEYS = 1000;
  private static final int IDLE_ORDERS = 300;
  private static final Duration POLL = Duration.ofSeconds(1);

  private final String brokers;
  private final boolean batched;
  private final int orders;
  private final String topic;
  private final String group;

  private ShareGroup(String brokers, boolean batched, int orders) {
    this.brokers = brokers;
    this.batched = batched;
    this.orders = orders;
    this.topic = "peer-orders-" + ProcessHandle.current().pid();
    this.group = "peer-group-" + ProcessHandle.current().pid();
  }

  public static void main(String[] words) throws Exception {
    new ShareGroup(words[0], words[1].equals("batched"), Integer.parseInt(words[2])).run(Integer.parseInt(words[3]));
  }

  private Properties common() {
    Properties properties = new Properties();
    properties.put("bootstrap.servers", brokers);
    return properties;
  }

  private KafkaProducer<byte[], byte[]> producer() {
    Properties properties = common();
    properties.put("acks", "all");
    properties.put("linger.ms", "0");
    return new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
  }

  private KafkaShareConsumer<byte[], byte[]> consumer() {
    Properties properties = common();
    properties.put("group.id", group);
    properties.put("share.acknowledgement.mode", "explicit");
    properties.put("max.poll.records", batched ? "1000" : "1");
    // Otherwise a poll returns whatever one batch of the producer has, however small the limit is.
    if (!batched) properties.put("share.acquire.mode", "record_limit");
    return new KafkaShareConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  private static ProducerRecord<byte[], byte[]> order(String topic, long number) {
    ByteBuffer payload = ByteBuffer.allocate(PAYLOAD_BYTES);
    payload.putLong(number);
    return new ProducerRecord<>(topic, ("order-" + number % KEYS).getBytes(), payload.array());
  }

  private void run(int partitions) throws Exception {
    try (Admin admin = Admin.create(common())) {
      admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all().get();
      ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
      AlterConfigOp oldest =
          new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
      admin.incrementalAlterConfigs(Map.of(resource, List.of(oldest))).all().get();
      try (KafkaShareConsumer<byte[], byte[]> consumer = consumer();
           KafkaProducer<byte[], byte[]> producer = producer()) {
        consumer.subscribe(List.of(topic));
        double[] idle = idle(consumer, producer);
        report(idle, flood(consumer, producer));
      }
      admin.deleteTopics(List.of(topic)).all().get();
    }
  }

  // One order at a time, from before it is sent to where it is begun. The first ones make the group.
  private double[] idle(KafkaShareConsumer<byte[], byte[]> consumer, KafkaProducer<byte[], byte[]> producer)
      throws Exception {
    double[] times = new double[IDLE_ORDERS];
    final int warmUp = 20;
    for (int i = -warmUp; i < IDLE_ORDERS; ++i) {
      Thread.sleep(1);
      long began = System.nanoTime();
      producer.send(order(topic, i));
      ConsumerRecords<byte[], byte[]> records;
      do {
        records = consumer.poll(POLL);
      } while (records.isEmpty());
      if (i >= 0) times[i] = (System.nanoTime() - began) / 1e6;
      acknowledge(consumer, records);
    }
    Arrays.sort(times);
    return times;
  }

  private void acknowledge(KafkaShareConsumer<byte[], byte[]> consumer, ConsumerRecords<byte[], byte[]> records) {
    for (ConsumerRecord<byte[], byte[]> record : records) consumer.acknowledge(record, AcknowledgeType.ACCEPT);
    consumer.commitSync();
  }

  private double flood(KafkaShareConsumer<byte[], byte[]> consumer, KafkaProducer<byte[], byte[]> producer)
      throws Exception {
    AtomicLongArray seen = new AtomicLongArray(orders);
    long began = System.nanoTime();
    Thread sending = new Thread(() -> {
      for (long i = 0; i < orders; ++i) producer.send(order(topic, i));
      producer.flush();
    });
    sending.start();
    for (long done = 0; done < orders;) {
      ConsumerRecords<byte[], byte[]> records = consumer.poll(POLL);
      if (records.isEmpty()) continue;
      for (ConsumerRecord<byte[], byte[]> record : records) {
        int number = (int) ByteBuffer.wrap(record.value()).getLong();
        if (seen.getAndSet(number, 1) == 0) ++done;
      }
      acknowledge(consumer, records);
    }
    double seconds = (System.nanoTime() - began) / 1e9;
    sending.join();
    return seconds;
  }

  private void report(double[] idle, double seconds) {
    System.out.printf(
        "{\"what\":\"share group, %s\",\"orders\":%d,\"per_s\":%.0f,\"idle_start_ms\":{\"p50\":%.3f,\"p99\":%.3f}}%n",
        batched ? "batched" : "one by one", orders, orders / seconds, idle[idle.length / 2],
        idle[idle.length * 99 / 100]);
  }
}
