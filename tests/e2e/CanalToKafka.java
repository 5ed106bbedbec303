// Canal's server, binlog parser and Kafka producer in one process: its deployer is not in Maven.
// java CanalToKafka.java <port of the database> <schema> <host:port of Kafka> <topic>
// The topic has one partition, for Canal sends a TRUNCATE to the first, whatever the table's own is.

import com.alibaba.otter.canal.connector.core.producer.MQDestination;
import com.alibaba.otter.canal.connector.core.util.Callback;
import com.alibaba.otter.canal.connector.kafka.producer.CanalKafkaProducer;
import com.alibaba.otter.canal.instance.manager.CanalInstanceWithManager;
import com.alibaba.otter.canal.instance.manager.model.Canal;
import com.alibaba.otter.canal.instance.manager.model.CanalParameter;
import com.alibaba.otter.canal.instance.manager.model.CanalStatus;
import com.alibaba.otter.canal.protocol.ClientIdentity;
import com.alibaba.otter.canal.protocol.Message;
import com.alibaba.otter.canal.server.embedded.CanalServerWithEmbedded;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.log4j.BasicConfigurator;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;

public class CanalToKafka {
    static final String DESTINATION = "shop";

    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[0]);
        String schema = arguments[1];
        String kafka = arguments[2];
        String topic = arguments[3];

        BasicConfigurator.configure();
        Logger.getRootLogger().setLevel(Level.WARN);
        try (AdminClient admin = AdminClient.create(Map.of("bootstrap.servers", kafka))) {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
        }
        Canal canal = new Canal();
        canal.setId(1L);
        canal.setName(DESTINATION);
        canal.setStatus(CanalStatus.START);
        canal.setCanalParameter(parameters(new InetSocketAddress("127.0.0.1", port)));
        CanalServerWithEmbedded server = CanalServerWithEmbedded.instance();
        server.setCanalInstanceGenerator(name -> new CanalInstanceWithManager(canal, schema + "\\..*"));
        server.start();
        server.start(DESTINATION);
        ClientIdentity client = new ClientIdentity(DESTINATION, (short) 1001, "");
        server.subscribe(client);

        CanalKafkaProducer producer = new CanalKafkaProducer();
        producer.init(settings(kafka));
        MQDestination destination = new MQDestination();
        destination.setCanalDestination(DESTINATION);
        destination.setTopic(topic);
        destination.setPartition(0);
        System.err.println("Canal reads");
        while (true) {
            Message batch = server.getWithoutAck(client, 50, 200L, TimeUnit.MILLISECONDS);
            long id = batch.getId();
            boolean isEmpty = batch.isRaw() ? batch.getRawEntries().isEmpty() : batch.getEntries().isEmpty();
            if (id == -1 || isEmpty) {
                continue;
            }
            producer.send(destination, batch, new Callback() {
                public void commit() {
                    server.ack(client, id);
                }

                public void rollback() {
                    server.rollback(client, id);
                }
            });
        }
    }

    static CanalParameter parameters(InetSocketAddress database) {
        CanalParameter parameters = new CanalParameter();
        parameters.setMetaMode(CanalParameter.MetaMode.MEMORY);
        parameters.setIndexMode(CanalParameter.IndexMode.MEMORY);
        parameters.setHaMode(CanalParameter.HAMode.HEARTBEAT);
        parameters.setStorageMode(CanalParameter.StorageMode.MEMORY);
        parameters.setStorageBatchMode(CanalParameter.BatchMode.MEMSIZE);
        parameters.setMemoryStorageBufferSize(16384);
        parameters.setMemoryStorageRawEntry(false);
        parameters.setSourcingType(CanalParameter.SourcingType.MYSQL);
        parameters.setMasterAddress(database);
        parameters.setMasterUsername("canal");
        parameters.setMasterPassword("canal");
        parameters.setDbUsername("canal");
        parameters.setDbPassword("canal");
        parameters.setDbAddresses(List.of(database));
        parameters.setGroupDbAddresses(
            List.of(List.of(new CanalParameter.DataSourcing(CanalParameter.SourcingType.MYSQL, database))));
        parameters.setPositions(List.of("{\"journalName\": \"bin.000001\", \"position\": 4}"));
        parameters.setSlaveId(7001L);
        parameters.setConnectionCharset("UTF-8");
        parameters.setConnectionCharsetNumber((byte) 33);
        parameters.setDefaultConnectionTimeoutInSeconds(30);
        parameters.setReceiveBufferSize(64 * 1024);
        parameters.setSendBufferSize(64 * 1024);
        parameters.setDetectingEnable(false);
        parameters.setTsdbEnable(false);
        parameters.setParallel(false);
        parameters.setGtidEnable(false);
        return parameters;
    }

    static Properties settings(String kafka) {
        Properties settings = new Properties();
        settings.putAll(Map.of(
            "kafka.bootstrap.servers", kafka,
            "kafka.acks", "all",
            "kafka.compression.type", "none",
            "kafka.batch.size", "16384",
            "kafka.linger.ms", "1",
            "kafka.max.request.size", "52428800",
            "kafka.buffer.memory", "33554432",
            "kafka.max.in.flight.requests.per.connection", "1",
            "kafka.retries", "0"));
        settings.putAll(Map.of(
            "canal.mq.flatMessage", "true",
            "canal.mq.filter.transaction.entry", "true",
            "canal.mq.database.hash", "true"));
        return settings;
    }
}
