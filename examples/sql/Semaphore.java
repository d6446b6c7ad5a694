// SPDX-License-Identifier: Apache-2.0
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/**
 * One of at most three at a time, by JDBC:
 *
 * <pre>java -cp /usr/share/java/postgresql.jar Semaphore.java jdbc:postgresql://HOST/shop?user=app</pre>
 *
 * The locks have a connection of their own with autocommit, so that each call takes effect at once and
 * no root stays locked. The work has another one, with transactions.
 */
public class Semaphore {
    /** Its token, or 0: the limit is reached. */
    static long acquire(Connection locks) throws SQLException {
        try (PreparedStatement ask = locks.prepareStatement(
                 "SELECT outcome, token, reason FROM lockkeeper.acquire('report', shared_limit => 3,"
                 + " ttl => ?::interval, note => 'by JDBC')")) {
            ask.setString(1, "30 s");
            try (ResultSet answer = ask.executeQuery()) {
                answer.next();
                if (!answer.getString("outcome").equals("granted")) {
                    System.out.println(answer.getString("reason"));
                    return 0;
                }
                return answer.getLong("token");
            }
        }
    }

    static void release(Connection locks, long token) throws SQLException {
        try (PreparedStatement end = locks.prepareStatement(
                 "SELECT lockkeeper.release('report', token => ?)")) {
            end.setLong(1, token);
            end.executeQuery();
        }
    }

    public static void main(String[] arguments) throws SQLException {
        try (Connection locks = DriverManager.getConnection(arguments[0]);
             Connection work = DriverManager.getConnection(arguments[0])) {
            long token = acquire(locks);
            if (token == 0) {
                System.exit(75);
            }
            work.setAutoCommit(false);
            work.createStatement().execute("SELECT count(*) FROM orders");
            work.commit();
            try {
                release(locks, token);
                System.out.println("done");
                release(locks, token); // a second time: it is lost
            } catch (SQLException error) {
                System.out.println(error.getSQLState() + ": " + error.getMessage().lines().findFirst().get());
            }
        }
    }
}
